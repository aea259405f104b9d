"""Chains: each is worth what its pieces cover together, however that is counted."""

from __future__ import annotations

import pytest

from leadline.records import Document, Evidence, Hit, Source
from leadline_plugins.ai.embedded.asked import asked
from leadline_plugins.ai.embedded.chains import chains, links, ratings, weights

QUESTION = asked("Who designed the bridge of the Elm Valley, and when did the designer die?")
TEXTS = (
    "The bridge of the Elm Valley is the work of Ada Stone.",
    "Ada Stone designed towers and was taught by Bo Reed.",
    "The designer Bo Reed did die in 1901.",
    "Bo Reed met Ada Stone in the valley.",
)
SOURCES = [
    Source(id=f"s{place}", hit=Hit(url=f"https://example.org/{place}", title="Ada Stone"), document=Document(text=text))
    for place, text in enumerate(TEXTS)
]
EVIDENCE = [
    Evidence(id=f"e{place}", source_id=f"s{place}", quote=text, claim=text, span=(0, len(text)))
    for place, text in enumerate(TEXTS)
]
WEIGHT = weights(QUESTION, SOURCES)
PIECES = links(QUESTION, EVIDENCE, SOURCES)
RANKED = chains(WEIGHT, PIECES)


def test_a_chain_is_worth_what_its_pieces_cover_less_the_steps() -> None:
    assert max(len(path) for _, path in RANKED) == 3
    for score, path in RANKED:
        pieces = [PIECES[place] for place in path]
        covered = sum(
            max(w if term in one.held else w * one.worth if term in one.titled else 0.0 for one in pieces)
            for term, w in WEIGHT.items()
        )
        assert score == pytest.approx(covered * 0.9 ** (len(pieces) - 1))


def test_the_best_chain_stands_first_of_equals_the_shorter_and_the_earlier() -> None:
    order = [(-score, len(path), path) for score, path in RANKED]
    assert order == sorted(order)


def test_a_piece_is_rated_by_the_best_chain_it_stands_in() -> None:
    best = [max(score for score, path in RANKED if place in path) for place in range(len(PIECES))]
    assert ratings(len(PIECES), RANKED) == best


def test_a_piece_of_an_unknown_source_has_no_title() -> None:
    (piece,) = links(QUESTION, EVIDENCE[:1], [])
    assert (piece.titled, piece.worth, piece.about) == (frozenset(), 1.0, ())


def test_in_an_account_a_piece_is_not_carried_along_for_sharing_a_name() -> None:
    text = "Bo Reed was seen at a market by Ada Stone."
    idle = Evidence(id="idle", source_id="s4", quote=text, claim=text, span=(0, len(text)))
    pieces = links(QUESTION, [*EVIDENCE, idle], SOURCES)
    for gaining in (False, True):
        ranked = chains(WEIGHT, pieces, gaining=gaining)
        carried = [path for _, path in ranked if len(path) > 1 and path[-1] == len(EVIDENCE)]
        assert bool(carried) != gaining
        assert ranked[0][0] == RANKED[0][0]
