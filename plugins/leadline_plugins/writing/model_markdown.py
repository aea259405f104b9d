"""Parse the Markdown of a model: numbers of passages become citations of evidence.

Prompts ask for `[1]` or `[1][3]`. Other forms that can only be citations are read too: `[^1]`, `【1】`, `[@id]`, and
`[1, 2]` or `[1-3]` unless the sentence ends with a citation of its own. Citations of unknown passages are removed. Any
other bracket is text and is escaped: an interval, a count, a range. Code and formulas stay unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from leadline.citations import CITATIONS, cite, cited
from leadline_plugins.formats.report_markdown import code_runs
from leadline_plugins.prompting.numbered_passages import AND, CALLED, NUMBERS, PLACE, RANGE

_FENCED = re.compile(
    r"\s*(?P<mark>`{3,}|~{3,})[ \t]*(?:markdown|md|text)?[ \t]*\n(?P<inside>.*)\n(?P=mark)\s*", re.DOTALL
)
_HEADING = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(.*?)[ \t#]*")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:={2,}|-{3,})[ \t]*")
_NO_PROSE = re.compile(r"\s*(?:[|>#*+-]|\d+[.)]|$)")
_BOLD = re.compile(r"(?:\*\*|__)(.+?)(?:\*\*|__)[:：]?")
# A line in a list of references.
_ENTRY = re.compile(r"\s*(?:[-*+][ \t]+)?(?:[\[【]\^?\d{1,3}[\]】][:.]?|\d{1,3}[.)])[ \t]+\S")
_ADDRESS = re.compile(r"https?://\S")
_MOST_IN_RANGE = 30

_ID = r"@[\w.:-]+"
_IDS = rf"{_ID}(?:(?:{AND}|[ \t]+)@?[\w.:-]+)*"
_INSIDE = rf"[ \t]*(?:{NUMBERS}|{_IDS}|{CALLED}{_IDS}){PLACE}"
_TOKEN = re.compile(
    rf"""(?P<code>(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))
    |(?P<formula>\$\$.*?\$\$|(?<![\\\w$])\$(?![\s\d$])[^$\n]*?[^$\s]\$(?![\w$]))
    |(?P<image>!\[[^\]]*\]\([^)\s]*\))
    |(?P<escaped>\\.)
    |(?P<target>(?<=\])\([^()\s]+\))
    |(?P<address>https?://[^\s<>()\[\]【】]+)
    |(?P<round>\([ \t]*{_IDS}[ \t]*\))
    |(?P<mark>(?:<sup>[ \t]*)?\[?[\[【［](?P<inner>{_INSIDE})[\]】］]\]?
        (?:\((?:\#|https?:)[^)\s]*\))?(?:[ \t]*</sup>)?)
    |(?P<other>\[\^[^\]\s]{{1,40}}\]|\[@[^\]\s]*\])
    |(?P<numeric>\[[\d\s.,;–-]+\])""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_PART = re.compile(rf"(?P<first>\d{{1,3}})(?:{RANGE}{CALLED}\^?@?(?P<last>\d{{1,3}}))?(?![\w.:-])", re.IGNORECASE)
# The inside of a bracket that may be a citation or not: a number, a list or a range.
_FIGURES = re.compile(r"[\d\s,;、–—~-]+")
_ITEM_START = re.compile(r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?")
# What follows a citation, unlike a bracket within a sentence: the end of the clause, or another citation.
_CLAUSE_END = re.compile(r"[ \t]*(?:[.,;:!?|。，；：！？、*_\[【［]|\Z)")
_LATER_CITATION = re.compile(r"(?:(?![.!?。！？](?:\s|\Z)).)*?(?<!\\)\[\d{1,3}\]")
# Marks a removed citation until the white space around it is removed too.
_DROPPED = "\x00"
_TIDY = re.compile(rf"[ \t]*{_DROPPED}+(?=[ \t]*(?:[.,;:!?)\n。，；：！？、]|\Z|{_DROPPED}))|{_DROPPED}+[ \t]?")


def parse_section(text: str, numbers: Mapping[int, str], title: str = "") -> str:
    """Return a model's Markdown as the text of a section; `numbers` maps the numbers of passages to ids.

    Removed are a heading at the start that repeats the `title`, a list of references at the end and paragraphs that
    repeat an earlier one. Headings start at the third level.
    """
    text = _without_references(_unfenced(text.replace("\r\n", "\n").replace("\x00", "")))
    known = frozenset(numbers.values())
    made = [
        run if is_code else _resolved_citations(_normalized_headings(run), numbers, known)
        for is_code, run in code_runs(text)
    ]
    return _without_title(_without_repeats("\n".join(made)), title)


def plain_title(text: str) -> str:
    """Return a model's title as plain text on one line, without heading marks, emphasis and citations."""
    plain_text = " ".join(CITATIONS.sub("", text).split()).lstrip("# ").strip()
    bold = _BOLD.fullmatch(plain_text)
    return (bold[1] if bold else plain_text).strip()


def _unfenced(text: str) -> str:
    """Return a text without a code fence around all of it, and with double-escaped line ends restored."""
    if "\\n\\n" in text and "\n\n" not in text:
        text = text.replace("\\n", "\n")
    match = _FENCED.fullmatch(text)
    return match["inside"] if match and match["mark"] not in match["inside"] else text


def _without_references(text: str) -> str:
    """Return a text without the list of references at its end: numbered lines below a heading.

    Without a heading only entries with an address and footnotes count as references.
    """
    lines = text.rstrip().split("\n")
    start = len(lines)
    while start and (_ENTRY.match(lines[start - 1]) or not lines[start - 1].strip()):
        start -= 1
    entries = [line for line in lines[start:] if line.strip()]
    heading = start and (_HEADING.fullmatch(lines[start - 1]) or _BOLD.fullmatch(lines[start - 1].strip()))
    references = all(_ADDRESS.search(line) or re.match(r"\s*[\[【]\^?\d", line) for line in entries)
    noted = all(_ADDRESS.search(line) or re.match(r"\s*\[\^?\d+\]:", line) for line in entries)
    if not entries or not (references if heading else noted):
        return text
    return "\n".join(lines[: start - 1 if heading else start])


def _normalized_headings(text: str) -> str:
    """Return a text whose headings start at the third level and are written with `#`."""
    lines: list[str] = []
    for line in text.split("\n"):
        if lines and _UNDERLINE.fullmatch(line) and not _NO_PROSE.match(lines[-1]):
            lines[-1] = f"## {lines[-1].strip()}"
        elif match := _HEADING.fullmatch(line):
            lines.append(f"{'#' * max(3, len(match[1]))} {match[2]}" if match[2] else "")
        else:
            lines.append(line)
    return "\n".join(re.sub(r"^## ", "### ", line) for line in lines)


def _resolved_citations(text: str, numbers: Mapping[int, str], known: Collection[str]) -> str:
    return _TIDY.sub("", _TOKEN.sub(lambda match: _resolved_token(match, numbers, known), text))


def unknown_numbers(text: str, numbers: Collection[int]) -> list[int]:
    """Return the numbers of citations of a model's Markdown that no passage has."""
    prose = "\n".join(run for is_code, run in code_runs(text) if not is_code)
    marks = (match for match in _TOKEN.finditer(prose) if match["mark"] and not _is_text(match, numbers))
    cited_numbers = (int(part["first"]) for mark in marks for part in _PART.finditer(mark["inner"].split("†")[0]))
    return sorted({number for number in cited_numbers if number not in numbers})


def _is_text(match: re.Match[str], numbers: Collection[int]) -> bool:
    """Return whether a bracket is no citation: an interval, a range or a count; judged by what stands around it."""
    if match[0][0] != "[" or not _FIGURES.fullmatch(match["inner"]):
        return False
    given = [int(figure) for figure in re.findall(r"\d+", match["inner"])]
    start = match.string.rfind("\n", 0, match.start()) + 1
    after = match.string[match.end() :].partition("\n")[0]
    if 0 in given:
        return True
    ends = _CLAUSE_END.match(after)
    if len(given) == 1:
        begins = _ITEM_START.fullmatch(match.string, start, match.start())
        return not ends and (given[0] not in numbers or bool(begins and after.lstrip()[:1].islower()))
    return any(figure not in numbers for figure in given) or (not ends and bool(_LATER_CITATION.match(after)))


def _resolved_token(match: re.Match[str], numbers: Mapping[int, str], known: Collection[str]) -> str:
    """Return the replacement of a token: the citations of a mark, or the removal sign."""
    if match["round"]:
        return "".join(map(cite, dict.fromkeys(_ids(match["round"], {}, known)))) or match[0]
    if match["mark"]:
        if _is_text(match, numbers):
            return f"\\{match[0]}"
        inner = match["inner"].split("†")[0]
        return "".join(map(cite, dict.fromkeys(_ids(inner, numbers, known)))) or _DROPPED
    if match["other"]:
        return _DROPPED
    if match["numeric"]:
        return f"\\{match[0][:-1]}\\]"
    return match[0]


def _ids(inner: str, numbers: Mapping[int, str], known: Collection[str]) -> Iterator[str]:
    """Yield the ids of the passages that the inside of a mark names, by id or by number."""
    named = [name for name in re.findall(r"[\w.:-]+", inner) if name in known]
    if named:
        yield from named
        return
    for part in _PART.finditer(inner):
        first, last = int(part["first"]), int(part["last"] or part["first"])
        for number in range(first, min(last, first + _MOST_IN_RANGE) + 1):
            if number in numbers:
                yield numbers[number]


def _without_repeats(text: str) -> str:
    """Return a text without repeated paragraphs and gaps: small models fall into loops."""
    seen: set[str] = set()
    parts: list[str] = []
    for is_code, run in code_runs(text):
        if is_code:
            parts.append(run)
            continue
        blocks = [block.rstrip() for block in re.split(r"\n(?:[ \t]*\n)+", run)]
        fresh = (block for block in dict.fromkeys(blocks) if block not in seen or not cited(block))
        parts.append("\n\n".join(filter(None, fresh)).strip("\n"))
        seen.update(blocks)
    return "\n\n".join(filter(None, parts)).strip()


def _without_title(text: str, title: str) -> str:
    """Return a text without a heading at its start that repeats the title."""
    first, _, rest = text.partition("\n")
    heading = _HEADING.fullmatch(first) or _BOLD.fullmatch(first.strip())
    heading_text = (heading[heading.lastindex or 0] if heading else "").casefold()
    plain = re.sub(r"[\W\d_]+", "", heading_text)
    return rest.strip() if heading and plain and plain == re.sub(r"[\W\d_]+", "", title.casefold()) else text
