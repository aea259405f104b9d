"""Lists of references that a model adds to its text: they name what nobody read."""

from __future__ import annotations

import re

from leadline_plugins.citing.entries import names_list
from leadline_plugins.drafts.blocks import BLANK
from leadline_plugins.drafts.known import SHAPE, Known
from leadline_plugins.text.stopwords import word_set

_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]")
_TITLE = re.compile(r"[ ]{0,3}(?:#{1,6}[ \t]+(?P<head>[^\n]{1,120})|(?P<line>[^\n]{1,80}))")
_MARK = r"[\[【［]\^?\d{1,3}[\]】］]"
_MARKS = re.compile(_MARK)
_ENTRY = re.compile(rf"\s*(?:[-*+]\s|\d{{1,3}}[.)]\s)?\W{{0,3}}(?:{_MARK}|\[@|\\\[|https?://)")
_NAMED = re.compile(rf"\s*(?:[-*+]\s|\d{{1,3}}[.)]\s)?\W{{0,3}}@?{SHAPE}\b")
_ITEM = re.compile(rf"\s*(?:[-*+]\s|\d{{1,3}}[.)]\s|\W{{0,3}}{_MARK}|\[@|@?{SHAPE}\b|https?://)")
_STRICT = re.compile(
    r"references?(?: list)?|bibliography|works cited|literature cited|literaturverzeichnis|quellenverzeichnis"
    r"|références|referencias|bibliograf[ií]a|(?:参考|參考|引用)(?:文献|文獻|资料|資料)",
    re.IGNORECASE,
)
"""Titles under which nothing stands but a list, whatever it names."""
_SHORT_WORDS = 15
_NUMBERED = re.compile(rf"\W{{0,3}}{_MARK}[:.]?\s")
_FIRST = re.compile(rf"\W{{0,3}}{_MARK}[:.]?\s+([^\W\d_]+)\s")
_PARTICLES = word_set("al d da de del della den der des di dos du el ibn la le ten ter van von zu zum zur")
"""Small words that the name of an author begins with."""
_ENTRY_WORDS = 60
"""Words of an entry at most; those of real reports have ten, and one in a hundred has 37."""
_BRACKETED = re.compile(rf"\s*(?:[-*+]\s|\d{{1,3}}[.)]\s)?\W{{0,3}}{_MARK}")
_NOTE = re.compile(r"^\W{0,8}\[\^[^\[\]\s]{1,100}\]:", re.MULTILINE)
_WEB = re.compile(r"https?://|www\.|\bdoi\b", re.IGNORECASE)
_POINT = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")
_YEAR = r"(?:1[5-9]|20)\d\d[a-z]?"
_AUTHORED = re.compile(rf"\W*[^\W\d_][^\W\d_’'-]*(?:,| and | & |\s+et\s+al\b|\s[A-Z]\.?[,\s])[^\n]*?\b{_YEAR}\b")
_DATED = re.compile(rf"[(（\[][^()（）\[\]]{{0,40}}\b{_YEAR}[)）\]]|[,.]\s[^,.\n]{{0,20}}\b{_YEAR}\W*\Z")


def refers(line: str) -> bool:
    """Return whether a line looks like an entry of a list of references: an address, an author and a year, a date."""
    return bool(_WEB.search(line) or _AUTHORED.match(_POINT.sub("", line, count=1)) or _DATED.search(line))


def _tells(line: str) -> bool:
    """Return whether a line that begins with a number says something, as no entry does: `[3] reports that …`.

    An entry has one number and few words, and what it begins with is a name.
    """
    first = _FIRST.match(line)
    told = bool(first and first[1].islower() and first[1] not in _PARTICLES and not _WEB.search(line))
    return told or len(_MARKS.findall(line)) > 1 or len(line.split()) > _ENTRY_WORDS


def unlisted(text: str, known: Known, *, last: bool = True) -> tuple[str, int]:
    """Return prose without lists of references, and how many there were; `last`: nothing stands below it."""
    parts = BLANK.split(text)
    count = 0
    within = strict = False
    for place in range(0, len(parts), 2):
        part = parts[place]
        title, _, rest = part.partition("\n")
        if (titled := _titles(title)) and _list_follows(rest, parts, place, known, last, _strict(title)):
            within, strict, count = True, titled and _strict(title), count + 1
            parts[place] = rest if rest.strip() and not _listed(rest, known, strict) else ""
        elif part.strip() and not (within and _listed(part, known, strict)):
            within = False
        elif within:
            parts[place] = ""
    count += _without_trailing(parts, known) if last else 0
    return "".join(parts), count


def _titles(line: str) -> bool:
    found = _TITLE.fullmatch(line)
    if not found:
        return False
    said = (found["head"] or "").strip(" \t#*_:：") or (found["line"] or "").strip()
    bold = said.startswith(("**", "__")) or said.rstrip("*_ ").endswith((":", "："))
    return bool(found["head"] or bold) and names_list(said.strip("*_ :："))


def _strict(line: str) -> bool:
    return bool(_STRICT.fullmatch(line.strip(" \t#*_:：")))


def _list_follows(rest: str, parts: list[str], place: int, known: Known, last: bool, strict: bool) -> bool:
    """Return whether what stands below a title is a list of references, or nothing at all."""
    block = rest if rest.strip() else "".join(parts[place + 2 : place + 3])
    return _listed(block, known, strict) if block else last


def _listed(block: str, known: Known, strict: bool = False) -> bool:
    if _HEADING.match(block):
        return False
    lines = [line for line in block.split("\n") if line.strip()]
    entries = all(_ENTRY.match(line) or _WEB.search(line) for line in lines)
    if strict and all(_ITEM.match(line) and len(line.split()) <= _ENTRY_WORDS for line in lines):
        return not _NOTE.search(block)
    if known.named(block):
        named = sum(bool(_NAMED.match(line)) for line in lines)
        entries = entries or (2 * named >= len(lines) and all(len(line.split()) <= _SHORT_WORDS for line in lines))
        return entries and not _NOTE.search(block)  # a note that cites goes where it is called
    # Sources, notes and references are words of prose too: `The river has two sources.`
    return all(_BRACKETED.match(line) for line in lines) or 2 * sum(map(refers, lines)) >= len(lines)


def _without_trailing(parts: list[str], known: Known) -> int:
    """Empty the last parts that are numbered entries of a list without a title."""
    count = 0
    for place in range(len(parts) - 1, -1, -1):
        lines = parts[place].strip().split("\n")
        if not parts[place].strip():
            continue
        numbered = all(_NUMBERED.match(line.strip()) and not _tells(line.strip()) for line in lines)
        if not numbered or known.named(parts[place]) or not any(map(refers, lines)):
            break
        parts[place], count = "", 1
    return count
