"""What litellm raises and lacks, told as ours; none of it needs the library."""

from __future__ import annotations

from typing import Any

import pytest

from leadline.errors import BadReply, Denied, ProviderError, QuotaSpent, RateLimited, TooLong, Unavailable, Unsupported
from leadline.host import Host
from leadline_plugins.ai.litellm.errors import is_of_litellm, translated


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
        (raised("RateLimitError", "litellm.RateLimitError: slow", 429), RateLimited, "slow down"),
        (raised("RateLimitError", "insufficient_quota", 429), QuotaSpent, "no quota"),
        (raised("ContextWindowExceededError", "prompt is too long", 400), TooLong, "longer than"),
        (raised("BadRequestError", "prompt is too long: 9 tokens", 400), TooLong, "longer than"),
        (raised("NotFoundError", "model: claude-x not found", 404), Unsupported, "has no model"),
        (raised("Timeout", "Connection timed out", 408), Unavailable, "timed out"),
        (raised("APIConnectionError", "refused", 500), Unavailable, "refused"),
        (raised("ServiceUnavailableError", "overloaded", 529), Unavailable, "overloaded"),
        (raised("APIResponseValidationError", "no JSON"), BadReply, "no JSON"),
        (raised("BudgetExceededError", "over budget"), QuotaSpent, "over budget"),
        (raised("ContentPolicyViolationError", "blocked", 400), Unsupported, "blocked"),
        (raised("PermissionDeniedError", "your prompt was flagged", 403), Unsupported, "flagged"),
        (raised("PermissionDeniedError", "no permission", 403), Denied, "does not accept the key"),
    ],
)
def test_exceptions_are_told_as_ours(error: Exception, kind: type[ProviderError], words: str) -> None:
    told = translated(error, "acme/m", [])
    assert type(told) is kind
    assert words in str(told)
    assert str(told).startswith("acme")


def test_the_answer_of_the_vendor_within_is_read() -> None:
    inner = '{"error": {"code": 429, "message": "You exceeded your current quota", "details": [{"retryDelay": "7s"}]}}'
    told = translated(raised("RateLimitError", f"litellm.RateLimitError: GeminiException - {inner}", 429), "m", [])
    assert (type(told), told.retry_after) == (RateLimited, 7)
    headers = translated(raised("RateLimitError", "slow", 429, headers={"Retry-After": "3"}), "m", [])
    assert headers.retry_after == 3
    newer = raised("RateLimitError", "slow", 429)
    newer.litellm_response_headers = {"Retry-After": "7"}  # type: ignore[attr-defined]
    assert translated(newer, "m", []).retry_after == 7


def test_no_key_and_no_traceback_stands_in_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "ak-0123456789")
    text = "bad key ak-0123456789 or own-key-777\nTraceback (most recent call last):\n  File …"
    told = str(translated(raised("AuthenticationError", text, 401), "m", ["own-key-777"]))
    assert "ak-0123456789" not in told
    assert "own-key-777" not in told
    assert "Traceback" not in told


def test_whose_exception_it_is() -> None:
    assert is_of_litellm(raised("Timeout", "x"))
    assert not is_of_litellm(ValueError("x"))


def test_the_plugin_is_listed_without_its_library() -> None:
    offer = Host.discover().offer("ai_providers", "litellm")
    assert offer.requires == ("litellm=leadline[litellm]",)
    assert offer.priced
