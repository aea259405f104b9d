"""Every way in which a server does not answer becomes the right kind of error, with a sentence, without a secret."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest

from leadline.errors import (
    BadReply,
    Denied,
    ProviderError,
    QuotaSpent,
    RateLimited,
    TooLong,
    Unavailable,
    Unsupported,
)
from leadline.testing.servers import ScriptedAnswer, ScriptedServer, json_answer
from leadline_plugins.service_errors import parse_duration, wait_seconds

Make = Callable[..., Any]

HTML = b"<!DOCTYPE html><html><head><title>502  Bad\nGateway</title></head><body>nginx</body></html>"


def error(message: str, status: int = 400, headers: dict[str, str] | None = None, **parts: Any) -> ScriptedAnswer:
    answer = json_answer({"error": {"message": message, **parts}}, status)
    return ScriptedAnswer(answer.body, status, answer.headers | (headers or {}))


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (error("This model's maximum context length is 8 tokens"), TooLong, "too long for 'm'"),
        (error("x", code="context_length_exceeded"), TooLong, "too long"),
        (
            error("the request exceeds the available context size", type="exceed_context_size_error"),
            TooLong,
            "too long",
        ),
        (error("Request too large for gpt-4 on tokens per min (TPM)", 429), TooLong, "too long"),
        (ScriptedAnswer(b"too big", 413), TooLong, "too long"),
        (error("Incorrect API key provided", 401), Denied, "check api_key"),
        (error("Country not supported", 403), Denied, "denies access"),
        (error("Incorrect API key provided", 403), Denied, "does not accept the key"),
        (error("Your account is not active, check your billing", 429), QuotaSpent, "the account is not active"),
        (error("Insufficient Balance", 402), QuotaSpent, "no quota or credit left"),
        (error("You exceeded your current quota", 429, code="insufficient_quota"), QuotaSpent, "no quota"),
        (error("Key limit exceeded (monthly limit)", 403), QuotaSpent, "no quota"),
        (error("Rate limit reached", 429), RateLimited, "rate limit reached"),
        (error("You exceeded your current quota; retry in 7s", 429), RateLimited, "rate limit reached"),
        (error("The model `m` does not exist", 404, code="model_not_found"), Unsupported, "has no model 'm'"),
        (error("model 'm' not found", 404), Unsupported, "has no model 'm'"),
        (ScriptedAnswer(b'{"detail":"Not Found"}', 404), Unsupported, "check base_url"),
        (ScriptedAnswer(b"404 page not found", 404), Unsupported, "check base_url"),
        (error("Overloaded", 529), Unavailable, "is not available"),
        (error("The server had an error", 500), Unavailable, "is not available"),
        (ScriptedAnswer(HTML, 502, {"content-type": "text/html"}), Unavailable, "a web page, '502 Bad Gateway'"),
        (ScriptedAnswer(b"", 503), Unavailable, "no explanation"),
        (ScriptedAnswer(HTML, 200, {"content-type": "text/html"}), Unsupported, "check base_url"),
        (ScriptedAnswer(b"", 200), BadReply, "the answer is empty"),
        (ScriptedAnswer(b"{broken", 200, {"content-type": "application/json"}), BadReply, "not JSON"),
        (ScriptedAnswer(b"[]", 200), BadReply, "not a JSON object"),
        (ScriptedAnswer(b"{}", 200), BadReply, "not a chat completion"),
        (
            ScriptedAnswer(b"", 302, {"location": "https://example.org/login?token=x#y"}),
            Unsupported,
            "redirects.*/login; check",
        ),
        (error("bad tool call", code="tool_use_failed"), BadReply, "did not finish the reply"),
        (json_answer({"error": {"message": "upstream died", "code": 502}}), Unavailable, "upstream died"),
        (
            json_answer([{"error": {"message": "quota", "code": 429, "status": "RESOURCE_EXHAUSTED"}}], 429),
            RateLimited,
            "quota",
        ),
        (json_answer({"detail": [{"msg": "field required"}]}, 422), Unsupported, "field required"),
        (json_answer({"object": "error", "message": "no such thing"}, 400), Unsupported, "no such thing"),
        # Vendors' own words for a request that is too long.
        (
            error("The input token count (1054016) exceeds the maximum number of tokens allowed (9)."),
            TooLong,
            "too long",
        ),
        (error("the input token count is 32769 but model only supports up to 32768"), TooLong, "too long"),
        (error("This model's maximum prompt length is 131072 but the request contains 136973"), TooLong, "too long"),
        (error("`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000", 422), TooLong, "too long"),
        (error("`inputs` must have less than 4096 tokens. Given: 5000", 422), TooLong, "too long"),
        (error("Your request exceeded model token limit: 262144 (requested: 269030)"), TooLong, "too long"),
        (error("Range of input length should be [1, 30720]"), TooLong, "too long"),
        (error("Prompt exceeds max length", code="1261"), TooLong, "too long"),
        (error("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"), TooLong, "too long"),
        (error("The decoder prompt (length 9) is longer than the maximum model length of 8", 500), TooLong, "too long"),
        (error("Input token length too long"), TooLong, "too long"),
        (error("Input length 203743 exceeds the maximum length 202752"), TooLong, "too long"),
        (error("Input token count + max_tokens must be less than the context length", 403), TooLong, "too long"),
        (error("`max_tokens` must be less than or equal to `8192`, the context_window"), Unsupported, "refuses"),
        # What one request said is no fault of the key.
        (error("Your chosen model requires moderation and your input was flagged", 403), Unsupported, "refuses"),
        (error("Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO", 403), Unsupported, "refuses"),
        (error("Project `p` does not have access to model `m`", 403), Unsupported, "has no model 'm'"),
        (ScriptedAnswer(HTML, 403, {"content-type": "text/html"}), Denied, "a web page"),
        (error("Your newly created team doesn't have any credits yet", 403), QuotaSpent, "no quota"),
        (error("The free tier of the model has been exhausted", 403), QuotaSpent, "no quota"),
        (error("Access denied: Arrearage", 400, code="Arrearage"), QuotaSpent, "no quota"),
        (error("your account is suspended", 429, type="exceeded_current_quota_error"), QuotaSpent, "no quota"),
        (error("The balance is used up", 429, code="1113"), QuotaSpent, "no quota"),
        (error("Incorrect API key provided: x", 400), Denied, "check api_key"),
        (error("Missing or invalid Authorization header.", 400), Denied, "header; check api_key"),
        (error("API key not valid. Please pass a valid API key.", 400), Denied, "check api_key"),
        (error("Operation was cancelled", 499), Unavailable, "is not available"),
        (error("model 'qwen2.5:7b' not found, try pulling it first", 404), Unsupported, "has no model"),
        (error("The model `Qwen/Qwen2.5-7B` does not exist.", 404), Unsupported, "does not exist; set another"),
        (error("models/gemma is not found for API version v1", 404), Unsupported, "has no model"),
        (error("Model Not Exist", 400), Unsupported, "has no model"),
        (error("No endpoints found that support tool use", 404), Unsupported, "refuses the request"),
        # An error with status 200.
        (json_answer({"error": "Unexpected endpoint or method. (POST /chat/completions)"}), Unsupported, "base_url"),
        (
            json_answer({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}),
            QuotaSpent,
            "no quota",
        ),
        (json_answer({"base_resp": {"status_code": 1002, "status_msg": "rate limit"}}), RateLimited, "rate limit"),
        (json_answer({"code": 500, "msg": "404 NOT_FOUND", "success": False}), Unavailable, "404 NOT_FOUND"),
    ],
)
async def test_refusals(
    server: ScriptedServer, provider: Make, answer: ScriptedAnswer, kind: type[ProviderError], words: str
) -> None:
    server.answers = [answer]
    with pytest.raises(ProviderError, match=words) as caught:
        await provider().ask()
    assert type(caught.value) is kind
    assert "127.0.0.1" in str(caught.value)


async def test_messages_contain_no_key_and_no_header(server: ScriptedServer, provider: Make) -> None:
    key, gate = "sk-0123456789abcdef", "gateway-secret-77"
    server.answers = [error(f"Incorrect API key provided: {key} by {gate}", 401)]
    model = provider(api_key=key, headers={"x-gate": gate})
    with pytest.raises(Denied) as caught:
        await model.ask()
    assert key not in str(caught.value)
    assert gate not in str(caught.value)
    assert server.asked[0].headers["authorization"] == f"Bearer {key}"
    assert server.asked[0].headers["x-gate"] == gate


async def test_an_unknown_model_is_reported_with_the_models_of_the_server(
    server: ScriptedServer, provider: Make
) -> None:
    listed = json_answer({"data": [{"id": "gemma"}, {"id": "qwen"}]})
    server.answers = [error("model 'gema' not found", 404), listed]
    with pytest.raises(Unsupported, match="did you mean 'gemma'"):
        await provider().ask(model="gema")


async def test_silence_and_a_missing_connection_have_different_messages(server: ScriptedServer, provider: Make) -> None:
    server.answers = [ScriptedAnswer(wait=1.0)]
    with pytest.raises(Unavailable, match="silent for 0.05 s"):
        await provider(read_timeout=0.05).ask()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(Unavailable, match="no connection"):
            await provider(base_url=f"http://127.0.0.1:{free.getsockname()[1]}").ask()
    with pytest.raises(Unsupported, match="no readable certificates"):
        await provider(ca_file=__file__, base_url="https://127.0.0.1:9").ask()


async def test_a_proxy_of_the_settings_is_used(server: ScriptedServer, provider: Make) -> None:
    server.answers = [error("via proxy", 407)]
    with pytest.raises(Unsupported, match="via proxy"):
        await provider(proxy=server.url, base_url="http://models.internal/v1").ask()
    assert server.asked[0].path == "http://models.internal/v1/chat/completions"


async def test_a_failing_proxy_is_named_instead_of_the_vendor(
    server: ScriptedServer, provider: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = [error("who are you?", 407)]
    asks = rf"models.internal: the proxy {server.url.removeprefix('http://')} \(the setting proxy\) requires a name"
    with pytest.raises(Unsupported, match=asks):
        await provider(proxy=server.url, base_url="http://models.internal/v1").ask()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        dead = f"127.0.0.1:{free.getsockname()[1]}"
        monkeypatch.setenv("http_proxy", f"http://ann:pass@{dead}")
        with pytest.raises(Unavailable, match=rf"models.internal: no connection to the proxy {dead} \(http_proxy\)"):
            await provider(base_url="http://models.internal/v1").ask()
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        server.answers = [error("nothing", 404)]
        with pytest.raises(Unsupported, match="check base_url"):
            await provider().ask()


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"retry-after": "7"}, "", 7),
        ({"retry-after": "0.5"}, "", 0.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, "", 1.5),
        ({"retry-after": "soon"}, "", None),
        ({}, "Please try again in 6m0.5s. Visit …", 360.5),
        ({}, "Please try again in 20ms.", 0.02),
        ({}, "Please retry after 12 seconds.", 12),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, "", 1),
        (
            {
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-remaining-tokens": "0",
            },
            "",
            360,
        ),
        ({"x-ratelimit-reset-requests": "18ms", "x-ratelimit-remaining-requests": "9999"}, "", None),
        (
            {
                "x-ratelimit-reset-requests": "18ms",
                "x-ratelimit-remaining-requests": "9999",
                "x-ratelimit-reset-tokens": "6s",
            },
            "",
            6,
        ),
        ({}, "", None),
    ],
)
def test_the_wait_is_read_from_headers_and_message(
    headers: dict[str, str], message: str, seconds: float | None
) -> None:
    assert wait_seconds(headers, message) == (pytest.approx(seconds) if seconds is not None else None)


def test_a_wait_may_be_a_moment() -> None:
    assert wait_seconds({"retry-after": formatdate(time.time() + 60, usegmt=True)}) == pytest.approx(60, abs=2)
    assert wait_seconds({"x-ratelimit-reset": str(int((time.time() + 60) * 1000))}) == pytest.approx(60, abs=2)
    assert parse_duration(str(time.time() - 60)) == 0.0
    assert [parse_duration(text) for text in ("", "x", "nan", "-1", "1h2m3s4ms")] == [None, None, None, None, 3723.004]


async def test_the_wait_of_a_vendor_behind_openrouter_is_read(server: ScriptedServer, provider: Make) -> None:
    reset = str(int((time.time() + 30) * 1000))
    server.answers = [error("Rate limit exceeded", 429, metadata={"headers": {"X-RateLimit-Reset": reset}})]
    with pytest.raises(RateLimited) as caught:
        await provider().ask()
    assert caught.value.retry_after == pytest.approx(30, abs=2)


async def test_the_reset_of_a_limit_is_ignored_after_a_failure(server: ScriptedServer, provider: Make) -> None:
    server.answers = [error("broken", 502, {"x-ratelimit-reset": "3600"})]
    with pytest.raises(Unavailable) as caught:
        await provider().ask()
    assert caught.value.retry_after is None


async def test_a_loading_model_sets_the_wait(server: ScriptedServer, provider: Make) -> None:
    server.answers = [json_answer({"error": "Model m is currently loading", "estimated_time": 20.0}, 503)]
    with pytest.raises(Unavailable, match="loading") as caught:
        await provider().ask()
    assert caught.value.retry_after == 20.0


async def test_a_dead_server_without_a_configured_model_is_unreachable(provider: Make) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(Unavailable, match=f"{host}: no connection"):
            await provider(base_url=f"http://{host}/v1", model="").ask()


@pytest.mark.parametrize(
    ("status", "kind", "told"),
    [
        (401, Denied, "does not accept the key"),
        (429, RateLimited, "rate limit reached"),
        (503, Unavailable, "is not available"),
        (404, Unsupported, "no model is set; set model in the section .the endpoint lists none"),
    ],
)
async def test_a_refused_list_of_models_gives_the_reason(
    server: ScriptedServer, provider: Make, status: int, kind: type[ProviderError], told: str
) -> None:
    server.answers = [error("no", status)]
    with pytest.raises(kind, match=told):
        await provider(model="").ask()


async def test_an_unknown_model_is_reported_without_the_list(server: ScriptedServer, provider: Make) -> None:
    server.answers = [error("model not found", 404), error("overloaded", 503)]
    with pytest.raises(Unsupported, match="has no model 'm'"):
        await provider().ask()
