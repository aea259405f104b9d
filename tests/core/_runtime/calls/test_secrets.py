"""Secrets: refused in requests, masked in errors and events, in every form they take there."""

import json
from urllib.parse import quote

import pytest

from leadline._settings.secrets import MASK, Secrets

KEY = 'tvly-"ab/c d\\é123456'
secrets = Secrets([KEY, "lm-studio", ""])


@pytest.mark.parametrize(
    "form",
    [KEY, quote(KEY, safe=""), quote(KEY), repr(KEY)[1:-1], json.dumps(KEY)[1:-1], KEY.replace(" ", "+")],
)
def test_every_form_is_masked(form: str) -> None:
    if form == KEY.replace(" ", "+"):
        form = quote(KEY, safe="").replace("%20", "+")
    assert secrets.scrub(f"401 for key={form}&q=1") == f"401 for key={MASK}&q=1"


def test_a_secret_in_a_request_is_found_with_its_path() -> None:
    assert secrets.find({"headers": ["x", {"value": f"Bearer {KEY}"}]}) == "request.headers[1].value"


def test_a_secret_in_a_name_is_found_too() -> None:
    assert secrets.find({KEY: 1}) == "request"


def test_a_dummy_key_is_a_word() -> None:
    assert secrets.find({"query": "how to use lm-studio"}) is None
    assert secrets.scrub("lm-studio") == "lm-studio"


def test_json_is_cleaned_in_depth() -> None:
    assert secrets.clean({"a": [KEY, 1, None], KEY: {"b": f"<{KEY}>"}}) == {
        "a": [MASK, 1, None],
        MASK: {"b": f"<{MASK}>"},
    }


def test_a_secret_that_begins_like_another_is_masked_whole() -> None:
    long, short = "k" * 20 + "-second", "k" * 20
    assert Secrets([short, long]).scrub(long) == MASK


def test_nothing_configured_changes_nothing() -> None:
    assert Secrets().scrub(KEY) == KEY
    assert Secrets().find({"q": KEY}) is None


def test_they_do_not_show_themselves() -> None:
    assert KEY not in repr(secrets)


def test_a_private_text_is_masked_in_errors_and_allowed_in_requests() -> None:
    both = Secrets(iter(["sk-0123456789abcdef"]), iter(["https://example.org/us"]))
    text = "sk-0123456789abcdef of https://example.org/us"
    assert both.scrub(text) == "[secret] of [secret]"
    assert both.clean({"text": text}) == {"text": "[secret] of [secret]"}
    assert both.find({"query": "https://example.org/us"}) is None
    assert not both.found_in(b"https://example.org/us")
    assert both.find({"query": text}) == "request.query"
