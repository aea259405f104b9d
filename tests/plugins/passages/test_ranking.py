"""Ranking of passages by words."""

from __future__ import annotations

from leadline.records import Evidence
from leadline_plugins.passages.ranking import nearest_sentence


def test_the_nearest_sentence_may_be_in_any_passage() -> None:
    """The passage that shares most words need not have the sentence that does."""
    texts = (
        "The harbour has a mole. The survey was long. Its depth was unknown. Fathoms are a unit.",
        "In 1871 the survey found a depth of nine fathoms.",
    )
    passages = [Evidence(id=f"e{n}", source_id="s", quote=text, span=(0, len(text))) for n, text in enumerate(texts)]
    claim = "The survey of the harbour found at the mole a depth of fathoms."
    assert nearest_sentence(claim, passages) == texts[1]
    assert nearest_sentence(claim, []) == ""
