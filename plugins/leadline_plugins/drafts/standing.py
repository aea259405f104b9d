"""Where a number in brackets can be a citation: behind what is said. Elsewhere it may be what the text is about."""

from __future__ import annotations

import re

_WINDOW = 80
_EXPLICIT = re.compile(r"[†^]|(?!and)[^\W\d_]{2}(?<!an)(?<!nd)", re.IGNORECASE)
"""A note, a tool's mark or the word `source` can be nothing but a mark, wherever it stands."""
_JOINED = re.compile(r"\s*(?:[,;，、–&-]|and)?\s*")
_LINE_BEGINS = re.compile(
    r"""(?:\A|\n)(?:[ \t>|]|[-*+][ \t]|\#{1,6}[ \t]|\d{1,9}[.)][ \t]){0,40}+(?:[*_~(（\["“'\[【]|<\w{1,10}>){0,10}\Z"""
)
_AROUND = re.compile(r"(?:[ \t\n*~]|</\w{1,10}>)+\Z")
"""Space and what ends an emphasis: what a mark stands behind is before it."""
_OPENED = re.compile(r"[(（\[【][ \t*_~]*\Z")
_CLOSES = re.compile(r"(?:[\s,;，、]{0,3}[\[【［][^\[\]【】［］]{1,40}[\]】］]){0,20}[\s*_~]{0,4}[)）\]】]")
_NAMES = re.compile(
    r"""(?:(?<![^\W_])(?:art\.|article|artikel|sect?\.|section|para\.|paragraph|abs\.|absatz|no\.|nos\.|nr\.|eqs?\.|equation
        |figs?\.|figure|tab\.|table|ch\.|chap\.|chapter|vectors?|dose|between|ci|cri|iqr|intervals?|ranges?|isotopes?
        |\w[ ]in|(?-i:the|an?|than|top|Articles|Sections|Equations|Figures|Tables|Chapters|Clauses?|Rules?|Steps?|Notes?
        |Rows?|Columns?|Items?|Psalms?))|[§第=∈])[ \t]?\Z""",
    re.IGNORECASE | re.VERBOSE,
)
"""What a number belongs to: it counts articles and figures, or is a quantity."""
_ENDS = ".,;:!?…。，；：！？"
_CLOSED = ")]}）］】」』》”’\"'»›"
_SIGNS = "%‰€£$°℃`"
_GLUED = re.compile(r"\S{1,40}\Z")
_PROSE = re.compile(r"(?:[^\W_]|[’'/-]){2,}\Z")
_WORD = re.compile(r"[^\W\d_]{2,}(?:[’'/–-][^\W\d_]+)*|\d{2,}")
_CODE = re.compile(
    r"(?:arr|array|argv?|args|vec|buf|idx|list|tuple|dict|str|int)\Z|[^\W_]\([^()]{0,30}\)\Z", re.IGNORECASE
)
_UNIT = (
    r"°|%|[kmµμn]?g|[kcmµμn]?m|[mµμ]?l|[mµμn]?s|min|h|hours?|days?|weeks?|months?|years?|minutes?|seconds?|[mµμn]?mol|iu"
    r"|[kmg]?hz|[kmg]?wh?|(?:milli|bi|tri)llions?|percent|per cent|tonnes?|tons?|kilomet\w{1,3}|met(?:re|er)s?|usd|eur"
)
_FOLLOWED = re.compile(
    rf"-(?!\[)|[A-Za-z0-9À-ɏͰ-ӿ%_]|\.[a-z_]|\s?[+=×÷]|\(\w{{1,4}}\)|[ \t\xa0]?(?:{_UNIT})(?![\w’'])", re.IGNORECASE
)
"""What makes a number part of a name, a sum or a quantity."""


def joined(between: str) -> bool:
    """Return whether two marks with this between them are one: `[1], [2]`."""
    return len(between) < 12 and bool(_JOINED.fullmatch(between))


def cites(text: str, start: int, end: int, follows: bool | None = None) -> bool:
    """Return whether numbers in brackets are a citation; `follows` says it of a mark that they are joined to."""
    if _EXPLICIT.search(text[start:end]):
        return True
    behind = text[end : end + _WINDOW]
    if _FOLLOWED.match(behind):
        return False
    return _behind_words(text[max(0, start - _WINDOW) : start], behind, start) if follows is None else follows


def _behind_words(before: str, behind: str, start: int) -> bool:
    if _LINE_BEGINS.search(before) and (start <= _WINDOW or "\n" in before):
        return False
    while opened := _OPENED.search(before):
        if not _CLOSES.match(behind):
            return False
        before = before[: opened.start()] + " "
    apart = before[-1:].isspace()
    said = _AROUND.sub("", before)
    last = said[-1:]
    if not last or _NAMES.search(f"{said} "):
        return False
    if last in _ENDS:
        # A sentence may begin with what it speaks of: `So it is. [1] shows it.`
        return not (
            apart and last in ".!?" and behind[:1] == " " and behind[1:2].islower() and not said.endswith("al.")
        )
    if last in _CLOSED:
        return behind[:1] != last and not (not apart and _CODE.search(said))
    return (last.isalnum() and (apart or _is_prose(said))) or (last in _SIGNS and (apart or last != "`"))


def _is_prose(said: str) -> bool:
    """Return whether a number may be glued to the last word: an identifier's is its index."""
    glued = (_GLUED.search(said) or [""])[0].lstrip("*~([{（【「『《“‘\"'>")
    if ord(glued[-1:] or "a") >= 0x2E80:  # these scripts set no spaces
        return True
    word = (_PROSE.search(glued) or [""])[0]
    ahead = glued[: len(glued) - len(word)]
    if ahead[-1:] in ("_", ".", "(", "@", "#", "\\", "/") or not _WORD.fullmatch(word):
        return False
    return not _CODE.fullmatch(word)
