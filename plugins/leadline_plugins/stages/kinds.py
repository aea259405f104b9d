"""The verdicts as people are told them: of those that are partial, which are known to be more, or less, than that.

One function says it for every place where claims are counted or marked: the reports, `verification.md`, the terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from leadline.findings import Verdict
from leadline_plugins.checks.whole import deciding
from leadline_plugins.stages.hedges import hedged
from leadline_plugins.wording import say
from leadline_plugins.wording.notices import says

Kind = Literal["supported", "partial", "hedged", "undecided", "doubted", "contradicted", "unsupported"]
KINDS: tuple[Kind, ...] = ("supported", "partial", "hedged", "undecided", "doubted", "contradicted", "unsupported")
"""In the order in which they are told."""
_DOUBTS = ("unshown", "unsettled")
"""The reasons of a rule that a model could not answer, by no words or by such as leave it open."""
_LABELS: Mapping[str, str] = {"hedged": "weakened"}
"""Words under which the labels of kinds stand, where they are those of something else."""


def kind_of(verdict: Verdict) -> Kind:
    """Return what people are told of a verdict.

    `hedged`: the text itself says that its source does not confirm it. `doubted`: a rule found something against it,
    and the model that calls it supported shows no words that settle it. `undecided`: words alone were compared.
    """
    if verdict.verdict != "partial":
        return verdict.verdict
    if hedged(verdict.claim):
        return "hedged"
    if verdict.by == "words":
        return "undecided"
    return "doubted" if any(says(verdict.reason, key) for key in _DOUBTS) else "partial"


def counts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Return how many claims there are of each kind, in their order."""
    found = Counter(map(kind_of, deciding(verdicts)))
    return {kind: found[kind] for kind in KINDS if found[kind]}


def label(kind: str, language: str) -> str:
    """Return what a kind is called."""
    return say(_LABELS.get(kind, kind), language)
