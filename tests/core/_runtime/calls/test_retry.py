"""Retries: which errors are worth another attempt, and when."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from leadline._runtime.calls.retry import RetryPolicy, translate
from leadline.errors import (
    BadReply,
    Denied,
    Disconnected,
    ProviderError,
    QuotaSpent,
    RateLimited,
    Refused,
    TooLong,
    Unavailable,
    Unsupported,
)
from leadline.http import retry_after_seconds


def http_error(status: int, **headers: str) -> httpx.HTTPStatusError:
    request = httpx.Request("GET", "https://api.example.org/search?key=hush&q=1")
    return httpx.HTTPStatusError("", request=request, response=httpx.Response(status, headers=headers, request=request))


def bad_json() -> Exception:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads("<html>")
    return caught.value


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (http_error(401), Denied),
        (http_error(402), QuotaSpent),
        (http_error(403), Denied),
        (http_error(404), Unsupported),
        (http_error(408), Unavailable),
        (http_error(413), TooLong),
        (http_error(422), Unsupported),
        (http_error(429), RateLimited),
        (http_error(500), Unavailable),
        (http_error(503), Unavailable),
        (httpx.ConnectTimeout(""), Unavailable),
        (httpx.RemoteProtocolError("closed"), Unavailable),
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"), Unsupported),
        (httpx.DecodingError("gzip"), BadReply),
        (httpx.UnsupportedProtocol("ftp"), Unsupported),
        (httpx.InvalidURL("x"), Unsupported),
        (TimeoutError(), Unavailable),
        (ConnectionResetError("gone"), Unavailable),
        (FileNotFoundError("a"), Unsupported),
        (PermissionError("a"), Denied),
        (bad_json(), BadReply),
        (ExceptionGroup("tasks", [ConnectionError("one")]), Unavailable),
        (Disconnected("again"), Disconnected),
    ],
)
def test_errors_of_the_outside_are_translated(error: Exception, cause: type[ProviderError]) -> None:
    assert type(translate(error)) is cause


@pytest.mark.parametrize("error", [ValueError("a"), KeyError("b"), ExceptionGroup("two", [OSError(), ValueError()])])
def test_any_other_error_is_the_plugins_own(error: Exception) -> None:
    assert translate(error) is None


def test_a_translated_error_has_the_address_without_its_query() -> None:
    assert str(translate(http_error(503))) == "HTTP 503 from https://api.example.org/search"
    assert str(translate(TimeoutError())) == "TimeoutError"


def test_a_timeout_of_the_plugins_client_names_itself_and_every_error_of_a_connection_its_address() -> None:
    timeout = httpx.Timeout(5, connect=3).as_dict()
    request = httpx.Request("GET", "http://wiki.example/search?key=hush", extensions={"timeout": timeout})
    own = "wiki.example:http sent nothing for 5 s, the `read` timeout of the plugin's HTTP client"
    assert str(translate(httpx.ReadTimeout("", request=request))) == f"ReadTimeout: {own}"
    assert str(translate(httpx.ConnectTimeout("", request=request))) == "ConnectTimeout (wiki.example:http, 3 s)"
    failed = httpx.ConnectError("All connection attempts failed", request=httpx.Request("GET", "http://127.0.0.1:9/"))
    assert str(translate(failed)) == "ConnectError: All connection attempts failed (127.0.0.1:9)"


def test_httpx_is_not_imported_to_translate() -> None:
    code = "import sys; from leadline._runtime.calls.retry import translate; translate(ValueError());"
    code += "sys.exit('httpx' in sys.modules)"
    path = ":".join(part for part in sys.path if part)
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": path}).returncode == 0


def test_pauses_grow_up_to_the_maximum_and_attempts_end() -> None:
    policy = RetryPolicy(attempts=5, base=2, factor=2, maximum=10)
    assert [policy.delay(attempt, Unavailable()) for attempt in range(1, 6)] == [2, 4, 8, 10, None]


@pytest.mark.parametrize("error", [Denied(), Unsupported(), QuotaSpent(), TooLong(), Refused()])
def test_errors_that_repetition_does_not_cure_are_not_repeated(error: ProviderError) -> None:
    assert RetryPolicy().delay(1, error) is None


def test_the_server_says_when() -> None:
    translated = translate(http_error(429, **{"Retry-After": "7"}))
    assert translated
    assert RetryPolicy().delay(1, translated) == 7
    assert RetryPolicy(maximum=5).delay(1, translated) is None


def test_retry_after_is_seconds_or_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    past = format_datetime(datetime.now(UTC) - timedelta(seconds=60), usegmt=True)
    assert retry_after_seconds(" 12 ") == 12
    assert 50 < (retry_after_seconds(soon) or 0) <= 60
    assert retry_after_seconds(past) == 0
    assert retry_after_seconds("") is None
    assert retry_after_seconds("soon") is None


def test_a_silent_server_is_tried_once_unless_it_asks_for_patience() -> None:
    policy = RetryPolicy(base=2)
    assert policy.delay(1, Unavailable(), single_attempt=True) is None
    assert policy.delay(1, Unavailable(retry_after=3), single_attempt=True) == 3
    assert policy.delay(1, RateLimited(), single_attempt=True) == 2
    assert policy.delay(1, Disconnected(), single_attempt=True) == 2
    assert policy.delay(1, Denied(), single_attempt=True) is None
    assert policy.delay(3, RateLimited(), single_attempt=True) is None
