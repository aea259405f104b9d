"""What litellm raises and lacks, told as ours; none of it needs the library."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from leadline._hosting.catalog import PluginCatalog
from leadline._settings.redaction import public
from leadline.errors import BadReply, Denied, ProviderError, QuotaSpent, RateLimited, TooLong, Unavailable, Unsupported
from leadline_plugins.ai.litellm.errors import is_of_litellm, translated
from leadline_plugins.ai.litellm.provider import account
from leadline_plugins.ai.litellm.settings import LitellmSettings

NO_SECRETS = LitellmSettings()


def raised(name: str, message: str, status: int = 0, **fields: Any) -> Exception:
    """Return an exception as litellm makes them: a class of its module, with these fields."""
    base = type("Base", (Exception,), {"__module__": "litellm.exceptions"})
    error: Exception = type(name, (base,), {"__module__": "litellm.exceptions"})(message)
    for field, value in {"message": message, "status_code": status, "llm_provider": "acme", **fields}.items():
        setattr(error, field, value)
    return error


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (raised("AuthenticationError", "bad key", 401), Denied, "bad key"),
        (raised("RateLimitError", "litellm.RateLimitError: slow", 429), RateLimited, "rate limit"),
        (raised("RateLimitError", "insufficient_quota", 429), QuotaSpent, "no quota"),
        (raised("ContextWindowExceededError", "prompt is too long", 400), TooLong, "too long"),
        (raised("BadRequestError", "prompt is too long: 9 tokens", 400), TooLong, "too long"),
        (raised("NotFoundError", "model: claude-x not found", 404), Unsupported, "has no model"),
        (raised("Timeout", "Connection timed out", 408), Unavailable, "timed out"),
        (raised("APIConnectionError", "refused", 500), Unavailable, "refused"),
        (raised("ServiceUnavailableError", "overloaded", 529), Unavailable, "overloaded"),
        (raised("APIResponseValidationError", "no JSON"), BadReply, "no JSON"),
        (raised("BudgetExceededError", "over budget"), QuotaSpent, "over budget"),
        (raised("ContentPolicyViolationError", "blocked", 400), Unsupported, "blocked"),
        (raised("PermissionDeniedError", "your prompt was flagged", 403), Unsupported, "flagged"),
        (raised("PermissionDeniedError", "no permission", 403), Denied, "denies access"),
        (raised("RateLimitError", "Too many tokens, please wait before trying again.", 429), RateLimited, "rate limit"),
        (raised("BadRequestError", '{"error": {"type": "request_too_large", "message": "max"}}', 400), TooLong, "max"),
        (raised("NotFoundError", "model: claude-foo", 404), Unsupported, "has no model"),
        (raised("NotFoundError", "nothing here", 404), Unsupported, "check api_base"),
    ],
)
def test_exceptions_of_litellm_become_provider_errors(error: Exception, kind: type[ProviderError], words: str) -> None:
    told = translated(error, "acme/m", NO_SECRETS)
    assert type(told) is kind
    assert words in str(told)
    assert str(told).startswith("acme")


def test_the_vendors_answer_in_an_exception_is_read() -> None:
    inner = '{"error": {"code": 429, "message": "You exceeded your current quota", "details": [{"retryDelay": "7s"}]}}'
    told = translated(
        raised("RateLimitError", f"litellm.RateLimitError: GeminiException - {inner}", 429), "m", NO_SECRETS
    )
    assert (type(told), told.retry_after) == (RateLimited, 7)
    headers = translated(raised("RateLimitError", "slow", 429, headers={"Retry-After": "3"}), "m", NO_SECRETS)
    assert headers.retry_after == 3
    newer = raised("RateLimitError", "slow", 429)
    newer.litellm_response_headers = {"Retry-After": "7"}  # type: ignore[attr-defined]
    assert translated(newer, "m", NO_SECRETS).retry_after == 7


@pytest.mark.parametrize(
    "form",
    ["vertex_ai_beta - b'{}'", "OpenAIException - Error code: 429 - {}. More words.", "x - {}. Handle with `y`."],
)
def test_the_vendors_answer_is_read_in_any_form(form: str) -> None:
    data = {"error": {"code": 429, "message": "slow\nly", "details": [{"retryDelay": "7s"}]}}
    text = repr(data) if "Error code" in form else json.dumps(data)
    told = translated(raised("RateLimitError", form.replace("{}", text), 429), "gemini/m", NO_SECRETS)
    assert (type(told), told.retry_after) == (RateLimited, 7)
    assert str(told) == "gemini: rate limit reached (HTTP 429): slow ly"


@given(st.text(alphabet="b'\"{}[]():, \\\\n01error", max_size=60))
def test_an_exception_with_any_text_becomes_a_provider_error(text: str) -> None:
    assert isinstance(translated(raised("APIError", text, 500), "acme/m", NO_SECRETS), ProviderError)


@pytest.mark.parametrize(
    ("cause", "kind", "words"),
    [
        (httpx.ConnectTimeout("x"), Unavailable, "no connection within 10 s (connect_timeout)"),
        (httpx.ReadTimeout("x"), Unavailable, "silent for 120 s (read_timeout)"),
        (httpx.ConnectError("refused"), Unavailable, "no connection: refused"),
        (httpx.RemoteProtocolError("peer closed"), Unavailable, "broke: peer closed"),
        (ModuleNotFoundError("No module named 'google'", name="google"), Unsupported, "pip install google-cloud"),
        (ImportError("Using SOCKS proxy, but the 'socksio' package is not installed."), Unsupported, "SOCKS"),
        (UnicodeEncodeError("ascii", "…", 0, 1, "x"), Unsupported, "HTTP headers do not allow"),
        (ImportError("Missing boto3 to call bedrock. Run 'pip install boto3'."), Unsupported, "pip install boto3"),
    ],
)
def test_the_reason_for_a_missing_answer_is_named(cause: Exception, kind: type[ProviderError], words: str) -> None:
    error = raised("InternalServerError", "OpenAIException - ", 500, llm_provider="vertex_ai_beta")
    error.__cause__ = cause
    told = translated(error, "acme/m", NO_SECRETS)
    assert type(told) is kind
    assert words in str(told)
    assert "(HTTP" not in str(told)
    assert str(told).startswith("acme: ")


@pytest.mark.parametrize(
    "extra",
    [
        {"aws_secret_access_key": "x"},
        {"extra_headers": {"Authorization": "x"}},
        {"metadata": [{"azure_ad_token": "x"}]},
        {"vertex_credentials": "x"},
        {"api_key": "x"},
        {"stream": True},
        {"model": "x"},
    ],
)
def test_secrets_and_request_fields_are_refused_in_extra(extra: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"put headers into `headers`|Leadline sets it in every request"):
        LitellmSettings(extra=extra)


def test_a_model_without_a_vendor_is_reported_with_its_setting() -> None:
    error = raised(
        "BadRequestError", "LLM Provider NOT provided. Pass in the LLM provider you are trying to call.", 400
    )
    told = translated(error, "emulated", NO_SECRETS)
    assert type(told) is Unsupported
    assert str(told).endswith("'emulated' does not name a known vendor: set plugins.litellm.model = VENDOR/MODEL")


def test_a_key_unfit_for_headers_is_reported_before_a_run() -> None:
    for kind in ("ai_providers", "embedders"):
        ready = PluginCatalog.discover().offer(kind, "litellm").ready
        assert "api_key contains a character" in str(ready(LitellmSettings(api_key=SecretStr("sk-…"))))
        assert ready(LitellmSettings(api_key=SecretStr("sk-x"))) is None


def test_headers_and_credentials_are_sent_but_never_shown() -> None:
    harmless = {"max_tokens": 5, "prompt_cache_key": "run", "thinking": {"budget_tokens": 1024}, "timeout": 3}
    secret = {"headers": {"X-Gate": "gate-secret"}, "credentials": {"aws_secret_access_key": "aws-secret"}}
    settings = LitellmSettings.model_validate({"extra": harmless, **secret})
    sent = account(settings)
    assert (sent["extra_headers"], sent["aws_secret_access_key"]) == ({"X-Gate": "gate-secret"}, "aws-secret")
    assert "secret" not in str(public(settings))
    assert {"headers", "credentials"}.isdisjoint(public(settings))
    error = raised("APIError", "gate-secret and aws-secret are wrong", 400)
    assert str(translated(error, "acme/m", settings)).count("[secret]") == 2


def test_messages_contain_no_key_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "ak-0123456789")
    text = "bad key ak-0123456789 or own-key-777\nTraceback (most recent call last):\n  File …"
    told = str(
        translated(raised("AuthenticationError", text, 401), "m", LitellmSettings(api_key=SecretStr("own-key-777")))
    )
    assert "ak-0123456789" not in told
    assert "own-key-777" not in told
    assert "Traceback" not in told


def test_exceptions_of_litellm_are_recognized() -> None:
    assert is_of_litellm(raised("Timeout", "x"))
    assert not is_of_litellm(ValueError("x"))


def test_the_plugin_is_listed_if_litellm_is_missing() -> None:
    offer = PluginCatalog.discover().offer("ai_providers", "litellm")
    assert offer.requires == ("litellm=leadline[litellm]",)
    assert offer.priced
