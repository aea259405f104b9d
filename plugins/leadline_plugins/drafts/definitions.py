"""Definitions in a draft: of links and of footnotes. All sections share one file, and so one space of names."""

from __future__ import annotations

import re
from collections.abc import Callable

from leadline_plugins.drafts.known import Known

_INSIDE = r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t]){0,40}+"
"""What a line may begin with in a list or a quotation."""
_MORE = r"(?:\n(?![ \t]*(?:\n|\Z|\[))[^\n]+)*"
_DEFINED = re.compile(
    rf"^(?P<inside>{_INSIDE})\[(?P<label>[^\[\]]{{1,300}})\]:[ \t]*(?P<rest>[^\n]*)(?P<more>{_MORE})", re.MULTILINE
)
_ADDRESS = re.compile(r"<?(?:[A-Za-z][\w+.-]{1,20}:|/|#|www\.|\.)|\S+\s*\Z|\S+\s+[\"'(]")
_NUMBER = re.compile(r"\s*\^?\d{1,3}\s*")
_USED = re.compile(r"(?<!\\)\[([^\[\]@]{1,300})\]\[([^\[\]@]{0,300})\]")
_NOTE = re.compile(r"(?<!\\)[ \t]?\[\^([^\[\]\s@]{1,100})\](?!:)")


def undefined(text: str, known: Known) -> tuple[str, int]:
    """Return a text that defines nothing, and how many marks of its own it lost.

    A footnote that cites stands where it is called; one that cites nothing is a reference that nobody checked.
    """
    if "]:" not in text:
        return text, 0
    found = _Definitions(known)
    text = _DEFINED.sub(found.taken, text)
    count = found.numbers + sum(not known.named(said) for said in found.notes.values())
    text = _NOTE.sub(_calls(found.notes, known), text)
    return _USED.sub(found.linked, text) if found.links else text, count


class _Definitions:
    """What a text defines."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self.numbers = 0
        self.notes: dict[str, str] = {}
        self.links: dict[str, str] = {}

    def taken(self, match: re.Match[str]) -> str:
        """Take a definition up; return what stands in its place."""
        label, rest, more = match["label"].strip(), match["rest"], match["more"]
        leads = bool(_ADDRESS.match(rest))
        if _NUMBER.fullmatch(label):
            self.numbers += 1
            says = self._known.named(rest) and not leads and not label.startswith("^")
            return f"{match['inside']}{rest}{more}" if says else ""
        if self._known.read(label, square=True):
            return more if leads else f"{match['inside']}[{label}] : {rest}{more}"
        if label.startswith("^"):
            self.notes[label[1:].casefold()] = " ".join(f"{rest}{more}".split())
            return ""
        if leads and rest.strip():
            self.links.setdefault(" ".join(label.casefold().split()), rest.split()[0].strip("<>"))
            return more
        return f"{match['inside']}\\[{match['label']}]: {rest}{more}"

    def linked(self, match: re.Match[str]) -> str:
        """Return a link by reference as one that says itself where it leads."""
        target = self.links.get(" ".join((match[2] or match[1]).casefold().split()))
        return f"[{match[1]}]({target})" if target else match[0]


def _calls(notes: dict[str, str], known: Known) -> Callable[[re.Match[str]], str]:
    """Return what puts a note where it is called first, and nothing where it is called again or cites nothing."""

    def called(match: re.Match[str]) -> str:
        label = match[1].casefold()
        if label not in notes:
            return match[0]
        said, notes[label] = notes[label], ""
        return f" ({said})" if known.named(said) else ""

    return called
