"""How claims are put to a model: where each stands, and every passage and title once, with what stands about it.

A passage often leaves its subject to the heading over it or the sentence before it, and a sentence of a report does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from leadline.findings import VerdictKind
from leadline_plugins.checks.naming import proper_names
from leadline_plugins.stages.claims import Claim
from leadline_plugins.stages.library import Cited, Library
from leadline_plugins.tasks.checking import ClaimToVerify, PassageToRead, SourceToRead
from leadline_plugins.text import sentences
from leadline_plugins.text.hanging import begins_item, cut, hangs_on, opening
from leadline_plugins.text.headings import BETWEEN
from leadline_plugins.text.tokens import has_cjk


@dataclass(frozen=True)
class Passage:
    """A passage and what stands about it, under the title of its source."""

    text: str
    title: str = ""
    under: str = ""
    before: str = ""
    behind: str = ""

    @property
    def about(self) -> tuple[str, ...]:
        """What may tell whom or what it speaks of."""
        return self.title, self.under, self.before, self.behind


@dataclass(frozen=True)
class Put:
    """A claim to be put to a model, with what it is held against, and what rules `found` against it.

    `held` is what they make of it alone: that stands against who overrules them without showing why.
    """

    id: str
    claim: str
    passages: tuple[Passage, ...]
    under: str = ""
    before: str = ""
    behind: str = ""
    whole: str = ""
    found: str = ""
    held: VerdictKind = "partial"


def put(claim: Claim, library: Library, *, anew: bool = False) -> Put:
    """Return a claim as a model is shown it: with its neighbours where it hangs on them, or a model said it `anew`.

    What goes on where a citation cut a sentence hangs on the beginning of that.
    """
    cited = [*(item for item in library.cited(claim) if not item.problem), *library.beside(claim)]
    around = claim.context
    goes_on = bool(around.whole) and not around.whole.startswith(claim.shown)
    hangs = anew or hangs_on(around.whole if goes_on else claim.shown)
    return Put(
        id=claim.id,
        claim=claim.shown,
        passages=tuple(_passage(item) for item in cited),
        under=around.under,
        before=cut(around.before) if hangs else "",
        behind=cut(around.behind) if anew else "",
        whole=around.whole if anew or goes_on else "",
    )


def listed(claims: Sequence[Put]) -> tuple[tuple[ClaimToVerify, ...], tuple[SourceToRead, ...]]:
    """Return claims, numbered, and the sources with their passages, each once and by the number that claims name."""
    numbers: dict[Passage, str] = {}
    for passage in (passage for claim in claims for passage in claim.passages):
        numbers.setdefault(passage, f"p{len(numbers) + 1}")
    shown = tuple(
        ClaimToVerify(
            id=str(number),
            claim=claim.claim,
            passages=tuple(numbers[passage] for passage in claim.passages),
            under=claim.under,
            before=claim.before,
            behind=claim.behind,
            whole=claim.whole,
            found=claim.found,
        )
        for number, claim in enumerate(claims, start=1)
    )
    return shown, tuple(_sources(numbers.items()))


def _sources(numbered: Iterable[tuple[Passage, str]]) -> Iterator[SourceToRead]:
    titles: dict[str, list[PassageToRead]] = {}
    for passage, number in numbered:
        read = PassageToRead(
            id=number, under=passage.under, before=passage.before, text=passage.text, behind=passage.behind
        )
        titles.setdefault(passage.title, []).append(read)
    return (SourceToRead(title=title, passages=tuple(passages)) for title, passages in titles.items())


def _passage(item: Cited) -> Passage:
    quote = item.evidence.quote
    hangs = hangs_on(quote)
    tells = not hangs and (begins_item(quote, item.before) or (not has_cjk(quote) and bool(proper_names(quote))))
    return Passage(
        text=quote,
        title=item.title,
        under=item.under.removeprefix(item.title).removeprefix(BETWEEN),
        before="" if tells else opening(quote, item.before),
        behind=_first(item.behind) if hangs else "",
    )


def _first(text: str) -> str:
    near = text.partition("\n\n")[0]
    spans = sentences(near)
    return cut(near[slice(*spans[0])]) if spans else ""
