"""Sentences met by their words repeat the same ones as sentences compared pair by pair."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.text.repeats import SAME, RepeatIndex

SENTENCES = st.frozensets(st.sampled_from("abcdefghijklmnopqrst"), max_size=18)


@given(st.lists(SENTENCES, max_size=12), SENTENCES)
def test_a_repetition_is_one_by_any_pair(before: list[frozenset[str]], words: frozenset[str]) -> None:
    said = RepeatIndex()
    for sentence in before:
        said.add(sentence)
    pairs = ((words, other) for other in before if words and other)
    assert said.repeats(words) == any(len(one & other) >= SAME * min(len(one), len(other)) for one, other in pairs)


@given(st.lists(SENTENCES, max_size=12), SENTENCES, st.data())
def test_it_repeats_only_those_that_have_all_that_tells_it_apart(
    before: list[frozenset[str]], words: frozenset[str], data: st.DataObject
) -> None:
    telling = data.draw(st.frozensets(st.sampled_from(sorted(words)))) if words else frozenset()
    every, having = RepeatIndex(), RepeatIndex()
    for sentence in before:
        every.add(sentence)
        if telling <= sentence:
            having.add(sentence)
    assert every.repeats(words, telling) == having.repeats(words)
