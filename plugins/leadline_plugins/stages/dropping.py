"""Sentences taken out of a section, with whatever then has nothing left to say.

A sentence goes whole: with its citations and what stands behind them, its list item or its table's row, and where it
was the last of them its paragraph, table, heading. Citations that a sentence before it shares stay with that one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from leadline.citations import CITATIONS, uncited
from leadline_plugins.stages.paragraphs import CAPTION, blocks, heading_level, leads
from leadline_plugins.stages.said import MARKER, Said, begins_line, blank, labels, line_begin
from leadline_plugins.text import sentences

_STOPPED = re.compile(r"(?<=\])[.!?。！？]+[\"'”’»)）」』\]*_]*\s*(?=\S)")
"""A full stop behind a citation, which ends its sentence whatever comes."""
_STOP = re.compile(r"[.!?。！？]")
_ENDS = re.compile(r"(?<=\w)[.!?。！？]\Z")
_GOES_ON = re.compile(r"[\"'”’»)）」』\]]*(?:[*_]+(?=\s))?\s*(?=[\"'“‘«(（「『*_]*\w)")
"""What stands between a citation and the next word of its line or its paragraph."""
_TAIL = 60
"""Characters before a citation by which a sentence that ends there is known: brackets and abbreviations count."""
_RULE = re.compile(r"[-*_]{3,}\Z")
_ITEM = re.compile(r"[-*+•]\s|\d{1,9}[.)]\s|\|")
_FIRST_CELL = re.compile(r"([ \t]*\|?[ \t]*)(\d{1,4})(?=\.?[ \t]*\|)")
_WORD = re.compile(r"\w")


def without(text: str, places: Sequence[int]) -> str:
    """Return a section's text without the sentences that stand at these places."""
    spans, wanted = list(blocks(text)), sorted(places)
    indents = [text[line_begin(text, start) : start] for start, _ in spans]
    made: list[str] = []
    for (start, end), indent in zip(spans, indents, strict=True):
        own = [at - start for at in wanted[bisect_right(wanted, start - 1) : bisect_right(wanted, end)]]
        made.append(_block(text[start:end], own, indent) if own else indent + text[start:end])
    kept = _kept([text[slice(*span)] for span in spans], [block.lstrip() for block in made])
    parts: list[str] = []
    last = -1
    for place, (start, _) in enumerate(spans):
        if kept[place]:
            gone = [len(indent) for indent in indents[last + 1 : place]]
            between = "\n\n" if gone else text[spans[last][1] : start - len(indents[place])]
            # What stood below an item that is gone takes its place, and no deeper one.
            block = _outdented(made[place], min(gone) if parts else 0) if gone else made[place]
            parts += [between if parts else "", block]
            last = place
    return "".join(parts)


def _kept(before: Sequence[str], after: Sequence[str]) -> list[bool]:
    """Return which blocks stay: not those that only named or led to what was taken out."""
    kept = [bool(block) for block in after]
    says, lost = [False] * 7, [False] * 7
    """By level, whether something stands, or stood, between here and the next heading of that level or above."""
    behind = ""
    for place in range(len(before) - 1, -1, -1):
        block, level = before[place], heading_level(before[place])
        if level:
            kept[place] = says[level] or not lost[level]
            says[level:] = lost[level:] = [False] * (7 - level)
        elif leads(block):
            kept[place] = kept[place + 1 : place + 2] != [False] or bool(_ITEM.match(behind))
        elif CAPTION.match(block):
            kept[place] = not _of_lost_table(before, after, place)
        if kept[place]:
            behind = after[place]
        if not kept[place]:
            lost = [True] * 7 if not level else [*([True] * level), *lost[level:]]
        elif not _RULE.match(block):
            says = [True] * 7 if not level else [*([True] * level), *says[level:]]
    return kept


def _of_lost_table(before: Sequence[str], after: Sequence[str], place: int) -> bool:
    beside = [other for other in (place - 1, place + 1) if 0 <= other < len(before)]
    return any(before[other].startswith("|") and not after[other] for other in beside)


@dataclass(frozen=True)
class _Unit:
    """What is kept or taken out whole, with the space behind it: a sentence, a row, the head of a table of `rows`.

    `row` is the number of a row, counted from 1.
    """

    text: str
    begins_line: bool
    rows: int = 0
    row: int = 0


def _block(text: str, places: Sequence[int], indent: str) -> str:
    """Return a block, which this space stands before, without some sentences; empty where it then says nothing."""
    starts, units = _units(text)
    gone = {bisect_right(starts, at) - 1 for at in places}
    for place, unit in enumerate(units):
        if unit.rows and gone.issuperset(range(place + 1, place + 1 + unit.rows)):
            gone.add(place)
    gone |= set(_nameless(units, gone))
    first = next((place for place in range(len(units)) if place not in gone), 0)
    own_line = any(unit.begins_line for unit in units[1 : first + 1])
    left = _joined(_recounted(units, gone), gone).strip("\n")
    made = _outdented(left if own_line else indent + left, len(indent)).rstrip()
    return made if _WORD.search(uncited(made)) and not leads(made) else ""


def _nameless(units: Sequence[_Unit], gone: set[int]) -> Iterator[int]:
    """Yield the labels of which nothing is left in their line that they could name."""
    left = False
    for place in range(len(units) - 1, -1, -1):
        unit = units[place]
        if place + 1 in gone and not units[place + 1].begins_line and not left and labels(unit.text):
            yield place
        left = not unit.begins_line and (left or place not in gone)


def _recounted(units: Sequence[_Unit], gone: set[int]) -> list[_Unit]:
    """Return the units, those that count their rows by what is left: a number out of turn would say something."""
    made, left = [], 0
    for place, unit in enumerate(units):
        left = 0 if unit.rows else left + (place not in gone)
        counted = _FIRST_CELL.match(unit.text) if unit.row else None
        if counted and int(counted[2]) == unit.row:
            unit = replace(unit, text=f"{counted[1]}{left}{unit.text[counted.end() :]}")
        made.append(unit)
    return made


def _units(text: str) -> tuple[list[int], list[_Unit]]:
    """Return where the units of a block begin, and the units; each goes to where the next begins."""
    masked = CITATIONS.sub(lambda run: blank(run.group()), text)
    said = Said(masked)
    heads = {table.span[0]: len(table.rows) for table in said.tables}
    stated = said.between(0, len(text))
    rows = {line_begin(text, piece.span[0]): piece.row for piece in stated}
    begun = {0, *heads, *(piece.span[0] for piece in stated)}
    begun |= {at for at in (*_behind_stops(text), *_behind_runs(text)) if not said.in_table(at)}
    starts = sorted({line_begin(text, start) for start in begun})
    return starts, [
        _Unit(text[start:end], begins_line(text, start), heads.get(start, 0), rows.get(start, 0))
        for start, end in pairwise([*starts, len(text)])
    ]


def _behind_stops(text: str) -> Iterator[int]:
    return (stop.end() for stop in _STOPPED.finditer(text))


def _behind_runs(text: str) -> Iterator[int]:
    """Yield where a sentence begins behind citations of one that was ended, though with a small letter (`mRNA`)."""
    for run in CITATIONS.finditer(text):
        said = text[max(0, run.start() - _TAIL) : run.start()].rpartition("\n")[2].rstrip()
        following = _GOES_ON.match(text, run.end())
        if following and said and sentences(f"{said} Then")[-1][0] == len(said) + 1:
            yield following.end()


def _joined(units: Sequence[_Unit], gone: set[int]) -> str:
    made: list[str] = []
    waiting, marker = False, ""
    for place, unit in enumerate(units):
        runs = list(CITATIONS.finditer(unit.text))
        marker = "" if unit.begins_line else marker
        if place not in gone:
            made.append(marker + unit.text)
            states = not (unit.rows or leads(unit.text.strip()) or labels(unit.text))
            # Of a row that cites by itself, what stands behind its last citation is served by that.
            more = not runs or (not unit.row and bool(_WORD.search(unit.text, runs[-1].end())))
            waiting = (states and more) or (waiting and not runs)
            marker = ""
            continue
        if runs and waiting:
            made[-1] = _cited(made[-1], runs[0].group(), within=bool(_STOP.match(unit.text, runs[0].end())))
        waiting = waiting and not runs
        if made and "\n" in _space(unit.text) and "\n" not in _space(made[-1]):
            made[-1] = made[-1].rstrip() + _space(unit.text)
        if unit.begins_line and (item := MARKER.match(unit.text)):
            marker = item.group()
    return "".join(made)


def _space(text: str) -> str:
    """Return the space at the end of a text."""
    return text[len(text.rstrip()) :]


def _cited(text: str, run: str, *, within: bool) -> str:
    """Return a sentence or a row with citations behind it, which it shared with one that is taken out.

    `within`: in front of its full stop, as they stood in that one.
    """
    said, marks = text.rstrip(), run.lstrip()
    if within and (stop := _ENDS.search(said)):
        return f"{said[: stop.start()]}{' ' if marks != run else ''}{marks}{stop.group()}{_space(text)}"
    space = " " if marks != run else ""
    space = "\n" if said.endswith(("```", "~~~")) else space
    row = said.startswith("|") and said.endswith("|")
    said = f"{said[:-1].rstrip()}{space}{marks} |" if row else f"{said}{space}{marks}"
    return said + _space(text)


def _outdented(text: str, most: int) -> str:
    """Return a block whose first line begins with so much space at most, and those below it with as much less."""
    lines = text.split("\n")
    much = max(0, len(lines[0]) - len(lines[0].lstrip(" ")) - most)
    below = list(takewhile(lambda line: line.startswith(" " * much), lines))
    return "\n".join([*(line[much:] for line in below), *lines[len(below) :]])
