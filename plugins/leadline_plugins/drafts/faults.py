"""What makes a written text unusable though it reads, told to the model; and what is of use of one all the same.

It refuses, it cites nothing that was given, it says the same sentence time and again, it runs on and on, or it is a
line where pages of passages were to be brought together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from leadline.citations import CITATION, cite, cited
from leadline_plugins.drafts import Draft, normalised
from leadline_plugins.drafts.assistant import refuses, unaddressed, without_refusal
from leadline_plugins.drafts.known import Known
from leadline_plugins.drafts.marks import may_mark
from leadline_plugins.drafts.statements import cited_sentences, letters
from leadline_plugins.text import is_cjk, length

_OVER = 2.5
"""Times the length asked from which a text is a runaway."""
_SLACK = 200
"""Words, or characters, that any text may be too long."""
_KEPT = 1.5
"""Times the length asked up to which paragraphs of one are kept."""
_OFTEN = 3
"""Times that one sentence may not stand in a text."""
_LETTERS = 24
"""Letters of a sentence that nobody repeats by chance; Chinese says as much in a third of them."""
_SHORT, _WANTED = 0.12, 150
"""The share of the length asked, or of that of its passages, below which a text is none; of how many words on."""
_SEEN = 60_000
"""Characters that are searched for repeats: what is longer is too long by itself."""
_NAMED = 3
_TRIFLE, _SMALL = 1, 0.1
"""Statements that may cite by marks of their own, and their share of all citations: less is not asked for again."""


def faults(text: str, known: Known, *, asked: int = 0, language: str = "", held: float = 0) -> Iterator[str]:
    """Yield what is wrong with a text that cites what is `known`: a clause each.

    `asked` is its length, 0 for free; `held` that of its passages, 0 where few of them may do.
    """
    if refuses(text):
        yield "it refuses, or speaks of you: write the text itself, from the passages alone, and nothing else"
    if cites_nothing(text, known):
        yield f"it cites none of the passages: put the id of its passage right behind each statement, as {_ways(known)}"
    elif foreign := _foreign(text, known):
        marks = ", ".join(islice(dict.fromkeys(foreign), _NAMED))
        yield f"{len(foreign)} statements cite by marks that name no passage ({marks}): cite each as {_ways(known)}"
    size = _size(text, language)
    if asked and size > _limit(asked):
        yield f"it is {size:,} {_unit(language)} long, and about {asked:,} were asked for: say it in that length"
    if again := _repeated(text):
        yield f'it says the same {max(again.values())} times ("{_first(text, again)[:80]}"): say everything once'
    if (wanted := min(asked, held)) >= _WANTED and size < _SHORT * wanted:
        yield f"it is {size:,} {_unit(language)} long, and about {asked:,} were asked for: use more of the passages"


def of_use(text: str, known: Known, *, asked: int = 0, language: str = "") -> tuple[str, str]:
    """Return what is of use of a text with faults, empty for nothing, and what is told of it, or why not.

    Of marks that name no passage nothing is told: they go when the text becomes that of a section.
    """
    said = without_refusal(text)
    is_short = asked and _size(said, language) < _SHORT * asked
    if refuses(said) or cites_nothing(said, known) or (said != text and is_short):
        return "", "the model did not write it" if refuses(text) else "it cites nothing that was given"
    once = _said_once(said)
    short = _shortened(once, asked, language) if asked and _size(once, language) > _limit(asked) else once
    done = ["what the model says of itself is left out"] if said != unaddressed(text) else []
    done += ["it said the same over and over, and says it once now"] if once != said else []
    done += ["it was far longer than asked, and is cut"] if short != once else []
    return short, "; ".join(done) or ("it is shorter than asked, and was so twice" if is_short else "")


def _limit(asked: int) -> float:
    """Return the length from which a text is a runaway; a short one may be longer by some sentences."""
    return max(_OVER * asked, asked + _SLACK)


def cites_nothing(text: str, known: Known) -> bool:
    """Return whether a text names none of the evidence that there is, in whatever form."""
    return bool(known.exact) and not known.named(text)


def _foreign(text: str, known: Known) -> tuple[str, ...]:
    """Return the marks that cost statements their only citation, where they are no trifle."""
    rest = CITATION.sub(lambda found: "" if found[1] in known.exact else found[0], text)
    made = normalised(text, known) if known.exact and may_mark(rest) else Draft(text)
    lost = len(made.lost)
    return made.lost if lost > _TRIFLE and lost > _SMALL * (lost + len(cited(made.text))) else ()


def _ways(known: Known) -> str:
    return " or ".join(cite(name) for name in sorted(known.exact)[:_NAMED])


def _size(text: str, language: str) -> int:
    return length(CITATION.sub("", text), language)


def _unit(language: str) -> str:
    return "characters" if is_cjk(language) else "words"


def _told(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the sentences of a text that can be repeats: no rows of tables, and nothing that is short."""
    for start, end in cited_sentences(text[:_SEEN]):
        said = text[start:end]
        own = letters(said)
        enough = _LETTERS if own.isascii() else _LETTERS // 3
        if len(own) >= enough and not said.lstrip().startswith("|"):
            yield start, end, own


def _repeated(text: str) -> Counter[str]:
    counts = Counter(own for *_, own in _told(text))
    return Counter({own: count for own, count in counts.items() if count >= _OFTEN})


def _first(text: str, repeated: Counter[str]) -> str:
    return next(" ".join(text[start:end].split()) for start, end, own in _told(text) if own in repeated)


def _said_once(text: str) -> str:
    """Return a text in which what it says time and again stands once; behind what was searched nothing stays then."""
    repeated = _repeated(text)
    if not repeated:
        return text
    seen: set[str] = set()
    parts, at = [], 0
    for start, end, own in _told(text):
        if own in seen:
            parts.append(text[at:start].rstrip(" \t"))
            at = end
        elif own in repeated:
            seen.add(own)
    parts.append(text[at:_SEEN])
    return re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", "".join(parts)).strip()


def _shortened(text: str, asked: int, language: str) -> str:
    """Return the first paragraphs of a text, about as long as was asked; of a long first one its sentences."""
    parts = re.split(r"\n[ \t]*\n+", text)
    kept: list[str] = []
    left = _KEPT * asked
    for part in parts:
        size = _size(part, language)
        if size > left:
            if not any("[@" in one for one in kept):
                kept.append(_sentences_of(part, left, language))
            break
        kept.append(part)
        left -= size
    while len(kept) > 1 and kept[-1].lstrip().startswith("#"):
        kept.pop()
    return "\n\n".join(kept)


def _sentences_of(text: str, room: float, language: str) -> str:
    """Return the first sentences of a paragraph, up to the last that cites."""
    end = cited = 0
    for start, stop in cited_sentences(text):
        room -= _size(text[start:stop], language)
        if room < 0:
            break
        end, cited = stop, stop if "[@" in text[start:stop] else cited
    return text[: cited or end]
