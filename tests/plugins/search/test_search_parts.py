"""The parts that engines share: dates, cursors, sites, and what refusals mean."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from leadline.errors import Denied, ProviderError, QuotaSpent, RateLimited, TooLong, Unavailable, Unsupported
from leadline_plugins.search.filters import Domains, either, shortened, with_sites
from leadline_plugins.search.results import day, images, joined
from leadline_plugins.service_errors import read_refusal


@pytest.mark.parametrize(
    ("told", "iso"),
    [
        ("2023-11-16T01:36:32.547Z", "2023-11-16"),
        ("2023-11-16 01:36:32", "2023-11-16"),
        ("2023/1/9", "2023-01-09"),
        ("2023-01", "2023-01"),
        ("2023", "2023"),
        ("Jan 29, 2023", "2023-01-29"),
        ("29 January 2023", "2023-01-29"),
        ("March 2023", "2023-03"),
        ("Mon, 02 Sep 2024 10:00:00 GMT", "2024-09-02"),
        ("2023年1月9日", "2023-01-09"),
        ("2023年1月", "2023-01"),
        ("2023-02-30", None),
        ("2023-13", None),
        ("3 days ago", None),
        ("昨日", None),
        ("", None),
        (None, None),
    ],
)
def test_dates_become_iso_8601(told: str | None, iso: str | None) -> None:
    assert day(told) == iso


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (
            401,
            b'{"detail": {"error": "Unauthorized"}}',
            Denied,
            "does not accept the key (HTTP 401): Unauthorized; check",
        ),
        (
            403,
            b'{"message": "usage limit reached"}',
            QuotaSpent,
            "no quota or credit left (HTTP 403): usage limit reached",
        ),
        (429, b'{"error": "monthly quota exceeded"}', QuotaSpent, "monthly quota exceeded"),
        (429, b"", RateLimited, "rate limit reached (HTTP 429)"),
        (429, b"Please try again in 12s.", RateLimited, "try again in 12s"),
        (414, b"", TooLong, "the request is too long (HTTP 414)"),
        (302, b"", Unsupported, "redirects (HTTP 302) to nowhere; check base_url"),
        (404, b"<h1>Not Found</h1>", Unsupported, "has no such address (HTTP 404): Not Found; check base_url"),
        (422, b'{"error": "invalid api_key"}', Denied, "does not accept the key"),
        (422, b'{"error": "num is too large"}', Unsupported, "num is too large"),
        (503, b"\xff\xfe", Unavailable, "is not available (HTTP 503)"),
        (400, b'{"errors": [{"message": "one"}, {"message": "100%"}]}', Unsupported, "one; 100%"),
        (400, b"[" * 100_000, Unsupported, "HTTP 400"),
        (400, b'{"error": "' + b"x" * 10_000 + b'"}', Unsupported, "xxx…"),
    ],
)
def test_refusals_become_provider_errors(status: int, body: bytes, kind: type[ProviderError], words: str) -> None:
    error = read_refusal(status, body, {}).error("Kelp 100%", key="plugins.kelp.api_key")
    assert type(error) is kind
    assert words in str(error)
    assert len(str(error)) < 400


@pytest.mark.parametrize("domain", ["https://example.org", "a b.org", "example", "user@example.org", ""])
def test_other_texts_are_no_domains(domain: str) -> None:
    with pytest.raises(ValidationError, match=r"is not a domain: write it as example\.org"):
        Domains(include_domains=[domain])


def test_sites_become_operators() -> None:
    assert with_sites("kelp", Domains()) == "kelp"
    assert with_sites("kelp", Domains(include_domains=["a.org"])) == "kelp site:a.org"


def test_long_queries_are_cut_between_words() -> None:
    assert shortened("one two three", 9) == "one two"
    assert shortened("one two three", 7) == "one two"
    assert shortened("海藻の森を守る", 3) == "海藻の"
    assert shortened("one two three", 99, words=2) == "one two"


def test_settings_images_and_snippets_are_combined() -> None:
    assert either("", "und") == ""
    assert either("de", "ja") == "de"
    assert images("http://a/b", None, "data:x", "http://a/b") == ("http://a/b",)
    assert joined(["a", " a ", "", "b"]) == "a … b"
