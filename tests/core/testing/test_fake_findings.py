"""What a stage is handed in a test is held to its offer."""

from __future__ import annotations

from typing import Any, cast

import pytest

from leadline import Key
from leadline.errors import PluginFault
from leadline.plugin import stage
from leadline.records import Record
from leadline.testing.context import fake_findings


class Word(Record):
    """A word."""

    id: str


WORDS: Key[tuple[Word, ...]] = Key("acme_words", Word, grows=True)
LONGEST: Key[Word] = Key("acme_longest", Word)
OTHER: Key[Word] = Key("acme_other", Word)
OFFER = stage("The longest word", needs=(WORDS,), may_give=(LONGEST,))(lambda: cast("Any", None))


def test_it_has_what_stands_there_and_keeps_what_is_written() -> None:
    findings = fake_findings(OFFER, {WORDS: [Word(id="bay"), Word(id="harbour")]})
    assert [word.id for word in findings[WORDS]] == ["bay", "harbour"]
    findings[LONGEST] = Word(id="harbour")
    assert findings.patch == {LONGEST: Word(id="harbour")}


def test_an_undeclared_key_is_a_fault() -> None:
    findings = fake_findings(OFFER, {OTHER: Word(id="bay")})
    assert findings.get(WORDS) == ()
    with pytest.raises(PluginFault, match="needs and wants only: acme_words"):
        findings.get(OTHER)
    with pytest.raises(PluginFault, match="its offer gives only: acme_longest"):
        findings[OTHER] = Word(id="bay")
    with pytest.raises(PluginFault, match="writes a str to 'acme_longest'"):
        findings[LONGEST] = "harbour"
