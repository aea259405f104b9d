"""What became of the writing of sections: which are quotes, what the evidence does not answer, and how that is told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from leadline.citations import CITATION
from leadline.records import Evidence, Section
from leadline_plugins.checks.naming import proper_names, stands
from leadline_plugins.text import content_set, sentences

_FIGURE, _AND = re.compile(r"\d"), re.compile(r"\s(?:and|or)\s")
_MOSTLY = 0.6
"""The share of an open question's words that a sentence says which may answer it, or a gap that repeats it."""
_FEWEST = 3
"""Words of it that are no chance."""


def answering(sections: Sequence[Section]) -> tuple[Section, ...]:
    """Return the sections without those whose writer found nothing in the evidence that answers them."""
    return tuple(section for section in sections if not section.unanswered or (section.text or "").strip())


def unanswered(sections: Sequence[Section], evidence: Iterable[Evidence] = ()) -> list[str]:
    """Return what the evidence does not answer: of a section that was left out, and of one that has a text.

    A writer knows the passages of its section alone: where those of another have figures on what it misses, that is
    said too.
    """
    by_id = {item.id: item for item in evidence}
    kept = {section.id for section in answering(sections)}
    said = []
    for section in sections:
        if gaps := told(section.unanswered):
            lost = "was left out, for nothing that was found answers it"
            open_ = "leaves open, by the passages its writer had" if section.id in kept else lost
            said.append(f"section '{section.title}' {open_}: {gaps}{_elsewhere(section, sections, by_id)}")
    return said


def _elsewhere(section: Section, sections: Iterable[Section], evidence: Mapping[str, Evidence]) -> str:
    """Say which names of its gaps stand in passages of other sections, beside figures and words of the same gap."""
    asked = [
        ([one for name in proper_names(gap) for one in _AND.split(name)], content_set(gap))
        for gap in section.unanswered
    ]
    found = (
        (other.title, name)
        for other in sections
        for item in map(evidence.get, set(other.evidence_ids) - set(section.evidence_ids))
        if item and _FIGURE.search(item.quote)
        for name in _shared(f"{item.under}\n{item.quote}", asked)
    )
    named = dict.fromkeys(sorted(found))
    titles = dict.fromkeys(f"'{title}'" for title, _ in named)
    names = dict.fromkeys(name for _, name in named)
    return f" (yet there are passages with figures on {', '.join(names)} in {', '.join(titles)})" if named else ""


def _shared(text: str, asked: Iterable[tuple[Sequence[str], frozenset[str]]]) -> Iterator[str]:
    said = content_set(text)
    for names, words in asked:
        for name in names:
            if (words - content_set(name)) & said and stands(name, text):
                yield name


def still_open(questions: Iterable[str], sections: Sequence[Section]) -> Iterator[str]:
    """Yield the questions of which no sentence that cites says most words, nor what a section says that it leaves open.

    They were asked before the sections were written: what these answer is open no more, and a gap is told once.
    """
    said: list[frozenset[str]] | None = None
    for question in questions:
        said = list(_said(sections)) if said is None else said
        asked = content_set(question)
        if not any(len(asked & one) >= max(_FEWEST, _MOSTLY * len(asked)) for one in said):
            yield question


def _said(sections: Sequence[Section]) -> Iterator[frozenset[str]]:
    """Yield the words of what is written with a citation, sentence by sentence, and of what is left open."""
    for section in sections:
        text = section.text or ""
        cites = (text[start:end] for start, end in sentences(text) if CITATION.search(text, start, end))
        yield from (content_set(one) for one in (*cites, *section.unanswered))


def told(gaps: Iterable[str]) -> str:
    """Return gaps as the end of a sentence, without its full stop."""
    return "; ".join(gap.strip().rstrip(".。") for gap in gaps)


def unwritten(sections: Sequence[Section]) -> Iterator[str]:
    """Say which sections are quotes, all of one reason at once: a spent budget refuses each with other figures."""
    found: dict[str, tuple[str, dict[str, None]]] = {}
    for section in sections:
        for reason in section.unwritten:
            kind = re.sub(r"(?<!HTTP )\b\d+", "", reason)
            found.setdefault(kind, (reason, {}))[1][f"'{section.title}'"] = None
    for reason, titles in found.values():
        if len(titles) == 1:
            yield f"section {''.join(titles)} is quotes, for it was not written ({reason})"
        else:
            yield f"sections {', '.join(titles)} are quotes, for they were not written ({reason})"
