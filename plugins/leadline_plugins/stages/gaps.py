"""What became of the writing of sections: which are quotes, what the evidence does not answer, and how that is told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from leadline.records import Section


def answering(sections: Sequence[Section]) -> tuple[Section, ...]:
    """Return the sections without those whose writer found nothing in the evidence that answers them."""
    return tuple(section for section in sections if not section.unanswered or (section.text or "").strip())


def unanswered(sections: Sequence[Section]) -> Iterator[str]:
    """Say what the evidence does not answer: of a section that was left out, and of one that has a text."""
    kept = {section.id for section in answering(sections)}
    for section in sections:
        if gaps := told(section.unanswered):
            lost = "was left out, for nothing that was found answers it" if section.id not in kept else "has a gap"
            yield f"section '{section.title}' {lost}: {gaps}"


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
