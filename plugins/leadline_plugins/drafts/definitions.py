"""Definitions in a draft: of links and of footnotes. All sections share one file, and so one space of names."""

from __future__ import annotations

import re
from collections.abc import Callable

from leadline.citations import cite, cited, uncited
from leadline_plugins.drafts.known import Known
from leadline_plugins.drafts.lists import refers

_INSIDE = r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t]){0,40}+"
"""What a line may begin with in a list or a quotation."""
_MORE = r"(?:\n(?![ \t]*(?:\n|\Z|\[))[^\n]+)*"
_DEFINED = re.compile(
    rf"^(?P<inside>{_INSIDE})\[(?P<label>[^\[\]]{{1,300}})\]:[ \t]*(?P<rest>[^\n]*)(?P<more>{_MORE})", re.MULTILINE
)
_ADDRESS = re.compile(r"<?(?:[A-Za-z][\w+.-]{1,20}:|/|#|www\.|\.)|\S+\s*\Z|\S+\s+[\"'(]")
_NUMBER = re.compile(r"\s*\d{1,3}\s*")
_USED = re.compile(r"(?<!\\)\[([^\[\]@]{1,300})\]\[([^\[\]@]{0,300})\]")
_NOTE = re.compile(r"(?<!\\)[ \t]?\[\^([^\[\]\s@]{1,100})\](?!:)")


def undefined(text: str, known: Known) -> tuple[str, int]:
    """Return a text that defines nothing, and how many marks of its own it lost.

    A footnote that cites stands where it is called; one that cites nothing is a reference that nobody checked.
    """
    if "]:" not in text:
        return text, 0
    found = _Definitions(known, frozenset(label.casefold() for label in _NOTE.findall(text)))
    text = _DEFINED.sub(found.taken, text)
    count = found.numbers + sum(not known.named(said) for said in found.notes.values())
    text = _NOTE.sub(_calls(found.notes, known), text)
    return _USED.sub(found.linked, text) if found.links else text, count


class _Definitions:
    """What a text defines."""

    def __init__(self, known: Known, called: frozenset[str]) -> None:
        self._known = known
        self._called = called
        self.numbers = 0
        self.notes: dict[str, str] = {}
        self.links: dict[str, str] = {}

    def taken(self, match: re.Match[str]) -> str:
        """Take a definition up; return what stands in its place."""
        label, rest, more = match["label"].strip(), match["rest"], match["more"]
        leads = bool(_ADDRESS.match(rest))
        if _NUMBER.fullmatch(label):
            if not leads and self._known.named(rest):
                self.numbers += 1
                return f"{match['inside']}{rest}{more}"
            if leads or not rest.strip() or refers(rest):
                self.numbers += 1
                return ""
            return f"{match['inside']}\\[{label}\\]: {rest}{more}"  # a step, not a source
        if self._known.read(label, square=True):
            return more if leads else f"{match['inside']}[{label}] : {rest}{more}"
        if label.startswith("^"):
            name, said = label[1:].strip().casefold(), f"{rest}{more}"
            if name not in self._called and self._known.named(said):
                return f"{match['inside']}{said}"  # nobody calls it: it stands where it is
            self.notes[name] = " ".join(said.split())
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
    """Return what puts a note where it is called, its words only once, and nothing for one that cites nothing."""

    def called(match: re.Match[str]) -> str:
        label = match[1].casefold()
        if label not in notes:
            return match[0]
        said = notes[label]
        if not known.named(said):
            return ""
        names = dict.fromkeys(name for name in cited(said) if name in known.exact)
        alone = not uncited(said).strip(" .;,()")
        notes[label] = "".join(map(cite, names))
        read = notes[label] if alone else known.read(said.strip(" .;[](){}"), square=True)
        return f" {read or f'({said})'}"

    return called
