"""Format `markdown`: the report as one Markdown file, with its method and its lists of sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from leadline.citations import CITATIONS, Numbered, cited, number, unenclosed
from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Files, Report, Section, Source
from leadline_plugins.formats.address import followable, readable, titled
from leadline_plugins.formats.checks import AtCitations, Checked, Checks, worst
from leadline_plugins.formats.defused import defused
from leadline_plugins.formats.figures import Numbered as Picture
from leadline_plugins.formats.figures import Placing, data_url, numbered
from leadline_plugins.formats.method import heading, paragraphs
from leadline_plugins.formats.references import statistics
from leadline_plugins.formats.said import Said
from leadline_plugins.formats.syntax import parser
from leadline_plugins.formats.tree import clean
from leadline_plugins.formats.verified import bare, failure, told
from leadline_plugins.stages.kinds import MARKS, label
from leadline_plugins.wording import say

_FIGURE = re.compile(r"!\[[^\[\]]*\]\(figure:([^)\s]+)\)")
_PICTURES = ("image/png", "image/svg+xml", "image/jpeg")
_MARKUP = re.compile(r"[\\`*\[\]<>]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])")
"""What may be markup; within a word an underline is none."""


class Markdown:
    """Renders Markdown."""

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `report.md`, its pictures where they are files, and with `report.resource_file` `references.md`."""
        settings = call.run.settings.report
        numbers, figures = number(report), numbered(report, _PICTURES)
        inline = settings.figures == "inline"
        parts = [f"# {_plain(report.title)}", *body(report, numbers, figures, inline), *method(report), *checks(report)]
        lists = list(references(numbers, report.language)) if settings.references else []
        pictures = [item.file for item in figures.values() if item.file and not inline]
        if settings.resource_file:
            return Files(files=(_file("report.md", parts), _file("references.md", lists), *pictures))
        return Files(files=(_file("report.md", [*parts, *lists]), *pictures))


def body(report: Report, numbers: Numbered, figures: Mapping[str, Picture], inline: bool) -> Iterator[str]:
    """Yield the sections, cited by number, each figure behind the paragraph that shows or first mentions it."""
    shown = {name for section in report.sections for name in _FIGURE.findall(section.text or "")}
    placing, found = Placing(figures, shown), Checks(report)
    for section in report.sections:
        yield f"## {_plain(section.title)}"
        served = found.at(section)
        for block in _blocks(section):
            yield from _set(block, placing, report, numbers, figures, inline, served)
    yield from (_picture(item, report, numbers, inline) for item in placing.rest())


def _set(
    block: str,
    placing: Placing,
    report: Report,
    numbers: Numbered,
    figures: Mapping[str, Picture],
    inline: bool,
    served: AtCitations,
) -> Iterator[str]:
    """Yield a block, and the figures that stand behind it."""
    asked = [figures[name] for name in _FIGURE.findall(block) if name in figures]
    text = _FIGURE.sub("", block)
    if text.strip():
        signs = _signs(text, numbers, served)
        yield numbers.render(text, lambda place: f"[{place}]{next(signs)}").strip("\n")
    yield from (_picture(item, report, numbers, inline) for item in [*asked, *placing.take(block)])


def _signs(text: str, numbers: Numbered, served: AtCitations) -> Iterator[str]:
    """Yield for each number that is set, run by run, the mark of the worst claim that it serves."""
    for run in CITATIONS.finditer(text):
        by_number: dict[int, list[Checked]] = {}
        for name in cited(run[0]):
            if name in numbers.by_evidence:
                by_number.setdefault(numbers.by_evidence[name], []).extend(served.take(name))
        yield from (MARKS.get(worst(claims), "") for claims in by_number.values())


def _blocks(section: Section) -> Iterator[str]:
    """Yield the blocks of a section as they are written, where the parser sees them begin."""
    text = defused(unenclosed(section.text or ""))
    lines = text.split("\n")
    starts = sorted({token.map[0] for token in parser().parse(text) if token.level == 0 and token.map} | {0})
    for start, end in pairwise([*starts, len(lines)]):
        yield "\n".join(lines[start:end]).strip("\n")


def _picture(item: Picture, report: Report, numbers: Numbered, inline: bool) -> str:
    marks = numbers.render("".join(f"[@{name}]" for name in item.figure.evidence_ids))
    caption = f"*{say('figure', report.language)} {item.number}. {_plain(item.figure.caption)}*{marks}"
    if item.figure.credit:
        caption += f" · {say('credit', report.language)}: {_address(item.figure.credit)}"
    if item.file is None:
        return f"[{_plain(item.figure.alt)}]\n\n{caption}"
    return f"![{_plain(item.figure.alt)}]({data_url(item.file) if inline else item.file.name})\n\n{caption}"


def method(report: Report) -> Iterator[str]:
    """Yield the methodology: scope, sources, limits, what failed."""
    said = [line for part in paragraphs(report) for line in _set_out(part)]
    if said:
        yield f"## {heading(report.language)}"
        yield from said


def _set_out(said: Said) -> Iterator[str]:
    yield _plain(said.text)
    if said.items:
        yield "\n".join(f"- {_plain(item)}" for item in said.items)


def checks(report: Report) -> Iterator[str]:
    """Yield what verification found; nothing for a report that was not verified."""
    found, language = Checks(report), report.language
    lines = list(told(report, found))
    if not lines:
        return
    yield f"## {say('checks', language)}"
    yield from (part for line in lines for part in _set_out(line))
    colon = say("colon", language).rstrip()
    rows = ((label(claim.kind, language) + colon, *failure(claim, times)) for claim, times in found.lacking())
    yield "\n".join(" ".join(filter(None, (f"- **{kind}**", _plain(text), _plain(why)))) for kind, text, why in rows)
    if without := bare(report, found):
        yield from _set_out(Said(say("without", language), tuple(without)))


def references(numbered: Numbered, language: str) -> Iterator[str]:
    """Yield the two lists of sources and the statistics."""
    yield f"## {say('cited', language)}"
    yield _list(numbered.cited) or say("none", language)
    if numbered.additional:
        yield f"## {say('additional', language)}"
        yield _list(numbered.additional)
    yield f"## {say('statistics', language)}"
    yield "\n".join(f"- {line}" for line in statistics(numbered, language))


def _list(sources: Iterable[tuple[int, Source]]) -> str:
    return "\n".join(
        f"[{place}] {_plain(titled(source.hit.title))} - {_address(source.hit.url)}  " for place, source in sources
    )


def _address(url: str) -> str:
    target = followable(url)
    return f"<{target}>" if target else _plain(readable(url))


def _line(text: str) -> str:
    return " ".join(text.split())


def _plain(text: str) -> str:
    """Return a text on one line in which nothing is markup."""
    return _MARKUP.sub(r"\\\g<0>", _line(clean(text)))


def _file(name: str, parts: list[str]) -> Blob:
    text = clean("\n\n".join(filter(None, parts)) + "\n")
    return Blob(name=name, media_type="text/markdown; charset=utf-8", data=text.encode("utf-8", "replace"))


def _make(settings: PluginSettings, context: Context) -> Markdown:
    return Markdown()


@hookimpl
def leadline_report_formatters() -> Iterator[Offer[Any, Markdown]]:
    """Offer the format."""
    yield Offer(_make, PluginSettings, "Markdown, with numbered citations and two lists of sources")
