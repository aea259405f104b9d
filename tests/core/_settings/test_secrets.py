"""Secrets are masked however a server sends them back."""

from __future__ import annotations

import base64

import pytest

from leadline._settings.secrets import MASK, Secrets
from leadline.records import Notice

KEY = "CANARYserper0123456789abcdefghijklmnopqr"


@pytest.mark.parametrize("length", range(12, len(KEY)))
def test_a_secret_that_was_cut_is_masked(length: int) -> None:
    assert Secrets([KEY]).scrub(f"400: bad key {KEY[:length]}") == f"400: bad key {MASK}"
    assert Secrets([KEY]).scrub(f"{KEY[:length]} … {KEY}, {KEY[:length]}!") == f"{MASK} … {MASK}, {MASK}!"


def test_words_that_begin_like_a_secret_stay() -> None:
    assert Secrets([KEY]).scrub("a CANARY was serped") == "a CANARY was serped"
    assert Secrets([], private=[KEY]).scrub(KEY[:20]) == KEY[:20]


def test_the_credentials_of_an_address_are_masked_as_they_are_sent() -> None:
    address = "https://ann:p%40ssword-of-ann@engine.example/search"
    sent = base64.b64encode(b"ann:p@ssword-of-ann").decode()
    for secrets in (Secrets([address]), Secrets([], private=[address])):
        assert secrets.scrub(f"got Authorization: Basic {sent}") == f"got Authorization: Basic {MASK}"
    assert Secrets(["http://[broken"]).scrub("http://[broken") == "http://[broken"


def test_a_notice_stays_one_with_secrets_masked_in_its_parameters_too() -> None:
    notice = Secrets([KEY]).scrub(Notice("refused: {reason}", "refused", reason=Notice(f"bad key {KEY}"), tries=2))
    assert isinstance(notice, Notice)
    assert notice == f"refused: bad key {MASK}"
    assert (notice.code, notice.parameters) == ("refused", {"reason": f"bad key {MASK}", "tries": 2})
