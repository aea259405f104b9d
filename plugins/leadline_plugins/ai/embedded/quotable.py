"""Quotable: what can stand alone in a report as a statement."""

from __future__ import annotations

import re
from itertools import islice

from leadline_plugins.text import length
from leadline_plugins.text.sentences import SURE
from leadline_plugins.text.tokens import CJK

_TERMINATORS = tuple(f".!?{SURE}")
_CLOSING = "\"'”’」』）)]»*_`"
"""What may stand behind a full stop."""
_ITEM = re.compile(r"[\s>]*(?:[-*+•‣▪◦·–]\s|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s)\s*")
"""List items end without a full stop, as table rows do."""
_NUMBER = re.compile(r"\W{0,3}?\[\^?\d{1,3}\\?\]")
"""The number of an entry in a list of sources, or a citation that a sentence follows."""
_CODE = re.compile(r"\s*(?:```|~~~)")
_CODE_LINES, _CODE_LONGEST = 5, 300
"""Of code with its fences that says something in a report: a command, a setting. More is a listing."""
_BARS = re.compile(r"[|│┃├└]")
_FIGURE = re.compile(r"\d")
_CODE_SIGNS = re.compile(r"[{};=]|\w\(|^\s*(?:\$|#!|//)\s", re.MULTILINE)
_DRAWN = 0.5
"""Of the lines of a block with fences, those with a bar from which it is a table or a tree that somebody drew."""
_BOLD = re.compile(r"\s*(\*\*|__)[^\n]+?\1\W*")
_NESTED = re.compile(r"\s*>[\s>]{2,}[-*+•]\s")
"""An item of a list in a list in a quotation: so an outline is drawn."""
_ROW = re.compile(r"\s*\|.*\|\s*$|.*\S\s\|\s\S.*\|")
_BLANK_LINE = re.compile(r"\n\s*\n")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\.\. )")
_LEAD_IN = (":", "：")
_POINTER = re.compile(r"\W*(?:see|cf\.?|siehe|voir|参见|參見|参照)\b", re.IGNORECASE)
"""`See also …`: it says only where something is said."""
_ERRAND = re.compile(
    r"\W*(?:(?:I(?:'|’)ll|I(?:'|’)m going to|I (?:will|shall|need to|am going to)|let me|let(?:'|’)s)(?: \w+){0,2}? "
    r"(?:research|search|look|query|find|gather|investigate|check|analy[sz]e|compile|conduct)\b"
    r"|(?:[^。，,]{0,40}[，,])?(?:我(?:需要|[将將會会要想来來])|[让讓]我|接下[来來]我)[^。，,；]{0,20}?"
    r"(?:查[询詢找阅閱]|搜[索寻尋]|[检檢]索|收集|研究|分析|[调調]查|梳理|整理|[评評]估|[总總][结結]))",
    re.IGNORECASE,
)
"""What its author is about to do: so begins a page that a model wrote."""
_LINK = re.compile(r"!?\[[^\[\]\n]*\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*[^()\n]*\)")
_URL = re.compile(r"<?\b(?:https?://|www\.)[^\s<>()（）\[\]」』，。；]+(?:\([^\s()]*\)[^\s<>()（）\[\]，。；]*)*>?")
_BARE = 3
"""Words beside its links, or behind the last address, below which a text is links alone, or an entry of a list."""
_BRACKETS = re.compile(r"[(（][^()（）]*[)）]")
_ENTRY = re.compile(
    r"https?://|www\.|\bdoi\b|\barxiv\b|\bet al\b|\b(?:accessed|retrieved|abgerufen|consulté)\b"
    r"|\bpp?\.\s?\d|\bvol\.|\(\d{4}[a-z]?\)\.|访问|訪問|検索日|閲覧",
    re.IGNORECASE,
)
"""What marks the entries of a list of sources."""
_AROUND = 200
"""Characters around a text that are looked at for such marks."""
_DATED = re.compile(
    r"(?:jan|feb|mar|apr|ma[iy]|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-z]{0,6}|\d+|\d+年(?:\d+月)?(?:\d+日)?",
    re.IGNORECASE,
)
_DOI = re.compile(r"\W*doi\b\W*\S+", re.IGNORECASE)
_IMPRINT = 60
"""Characters at most of a date alone, or of a DOI: so a page says when and where it appeared."""
_GRAMMAR = "::="
_CITES = "[@"
"""Our own mark of a citation: in a quote it would point nowhere."""
_SIGN = re.compile(r"[^\w\s]")
_SIGNS = 0.5
"""Share of what is neither letter nor space; above it is a formula, a row of figures, a drawing."""
_LONG_HEADING = 12
"""Words; what is longer and has no full stop is prose all the same."""
_FEWEST = 2
"""Words of the shortest statement: a name alone is a label."""
_WORD = re.compile(rf"[{CJK}]{{2}}|[^\W_{CJK}]+")
_WORDS = re.compile(r"[^\W_]+")
_BELOW = re.compile(r"[ \t]*\n([ \t]+)(?:[-*+•‣▪◦·–]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s")
"""A line below a list item that is an item too, and how far it is set in."""
_INDENT = re.compile(r"[ \t]*")
_SHORT = 3
"""Words at most of what is a label whatever its words are, where items below it say what there is to say."""
_JOINING = re.compile(
    r"(?:and|or|of|the|for|in|on|at|with|und|oder|für|von|der|die|das|et|ou|de|du|des|la|les?|y|del|d[ao])"
)
"""Words between those of a name that are written small."""
_LETTER = re.compile(r"[^\W\d_]")
LONGEST = 1200
"""Characters; more is a page without full stops."""


def quotable(text: str) -> bool:
    """Return whether a sentence, list item, table row or short block of code states something by itself."""
    if _CITES in text or len(text) > LONGEST or _HEADING.match(text) or ("\n" in text and _BLANK_LINE.search(text)):
        return False
    if _CODE.match(text):
        return (len(text) <= _CODE_LONGEST and text.count("\n") < _CODE_LINES) or _drawn(text)
    if row(text):
        return True
    said, item = text.rstrip(), _ITEM.match(text)
    if said.rstrip(_CLOSING).endswith(_LEAD_IN) or _few(text) or _is_entry(said, bool(item)) or _ERRAND.match(text):
        return False
    if item:
        return not _label(text, said, item.end())
    if _POINTER.match(text) or _GRAMMAR in text or _imprint(said) or _signs(text) > _SIGNS:
        return False
    return said.rstrip(_CLOSING).endswith(_TERMINATORS) or length(text) > _LONG_HEADING


def row(text: str) -> bool:
    """Return whether it is a row of a table."""
    return "|" in text and bool(_ROW.match(text))


def begins_item(text: str, place: int) -> bool:
    """Return whether an item of a list begins at a place of a text."""
    return bool(_ITEM.match(text, place))


def among_entries(text: str, start: int, end: int) -> bool:
    """Return whether a place of a text has the marks of a list of sources, in it or close by."""
    return bool(_ENTRY.search(text, max(0, start - _AROUND), end + _AROUND))


def leads(text: str, start: int, end: int) -> bool:
    """Return whether a place of a text is a list item that only names what the items of a list below it speak of.

    It is short or a name, without a figure or a full stop. A name with nothing below it may be what was asked for.
    """
    item = text[start:end].strip()
    mark = _ITEM.match(item)
    below = _BELOW.match(text, start + len(text[start:end].rstrip()))
    if not mark or not below or _FIGURE.search(item, mark.end()) or item.rstrip(_CLOSING).endswith(_TERMINATORS):
        return False
    line = _INDENT.match(text, text.rfind("\n", 0, start + 1) + 1)
    if line and len(below[1].expandtabs()) <= len(line[0].expandtabs()):
        return False
    words = _WORD.findall(_BRACKETS.sub("", item[mark.end() :]))
    return len(words) <= _SHORT or not any(word[0].islower() and not _JOINING.fullmatch(word) for word in words)


def _drawn(text: str) -> bool:
    """Return whether a block with fences is a table or a tree with figures, and no code."""
    lines = [line for line in text.split("\n") if line.strip()][1:-1]
    bars = sum(map(bool, map(_BARS.search, lines)))
    return bars >= _DRAWN * len(lines) > 1 and bool(_FIGURE.search(text)) and not _CODE_SIGNS.search("\n".join(lines))


def _label(text: str, said: str, start: int) -> bool:
    """Return whether a list item is bold as a whole, or a line of an outline, and says no figure: a heading."""
    if said[-1] not in "*_" and ">" not in text[:start]:
        return False
    if said.rstrip(_CLOSING).endswith(_TERMINATORS) or _FIGURE.search(text, start):
        return False
    return bool(_BOLD.fullmatch(said, start) or _NESTED.match(text))


def _few(text: str) -> bool:
    item = _ITEM.match(text)
    words = islice(_WORD.finditer(text, item.end() if item else 0), _FEWEST)  # no more than need be looked for
    return sum(1 for _ in words) < _FEWEST or not _LETTER.search(text)


def _is_entry(said: str, item: bool) -> bool:
    """Return whether a text is an entry of a list of sources, or links and no more."""
    if _NUMBER.match(said) and _ENTRY.search(said):
        return True
    if "](" not in said and "://" not in said and "www." not in said:
        return False
    bare = _LINK.sub(" ", said)
    if len(_WORD.findall(_URL.sub(" ", _ITEM.sub("", bare, count=1)))) < _BARE:
        return True
    *_, last = (None, *_URL.finditer(bare))
    if last is None or bare[: last.start()].endswith(("(", "（")):
        return False
    led = item or bare[: last.start()].rstrip().endswith((*_LEAD_IN, "-", "–", "—"))
    return led and len(_WORD.findall(_BRACKETS.sub("", bare[last.end() :]))) < _BARE


def _imprint(said: str) -> bool:
    if len(said) > _IMPRINT:
        return False
    return bool(_DOI.fullmatch(said)) or all(map(_DATED.fullmatch, _WORDS.findall(said)))


def _signs(text: str) -> float:
    return (len(_SIGN.findall(text)) + text.count("_")) / len(text)
