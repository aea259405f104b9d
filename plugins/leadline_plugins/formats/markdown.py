"""Format `markdown`: the report as one Markdown file, with its method and its lists of sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from leadline.citations import Numbered, cited, number, unenclosed
from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Evidence, Files, Report, Source
from leadline_plugins.formats.address import followable, readable, titled
from leadline_plugins.formats.defused import defused
from leadline_plugins.formats.figures import Numbered as Picture
from leadline_plugins.formats.figures import Placing, data_url, numbered
from leadline_plugins.formats.marks import Mark, failures, legend, marks_of, only_quotes, summary
from leadline_plugins.formats.method import heading, paragraphs
from leadline_plugins.formats.passages import places
from leadline_plugins.formats.references import bracketed, statistics
from leadline_plugins.formats.sections import headed, signed, texts
from leadline_plugins.formats.syntax import parser
from leadline_plugins.formats.tree import clean
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
        lists = list(references(numbers, report)) if settings.references else []
        pictures = [item.file for item in figures.values() if item.file and not inline]
        if settings.resource_file:
            return Files(files=(_file("report.md", parts), _file("references.md", lists), *pictures))
        return Files(files=(_file("report.md", [*parts, *lists]), *pictures))


def body(report: Report, numbers: Numbered, figures: Mapping[str, Picture], inline: bool) -> Iterator[str]:
    """Yield the legend of the marks, then the sections, each figure after the paragraph that first mentions it."""
    shown = {name for section in report.sections for name in _FIGURE.findall(section.text or "")}
    placing, marks = Placing(figures, shown), marks_of(report)
    if signs := legend(marks, report.language):
        yield f"*{_plain(signs)}*"
    for section in report.sections:
        if headed(section, report):
            yield f"## {_plain(section.title)}"
        for block in (block for text in texts(section, marks, report.language) for block in _blocks(text)):
            asked = [figures[name] for name in _FIGURE.findall(block) if name in figures]
            text = _FIGURE.sub("", block)
            if text.strip():
                yield signed(numbers.render(text).strip("\n"), marks)
            yield from (_picture(item, report, numbers, inline) for item in [*asked, *placing.take(block)])
    yield from (_picture(item, report, numbers, inline) for item in placing.rest())


def _blocks(markdown: str) -> Iterator[str]:
    """Yield the blocks of a text as they are written, where the parser sees them begin."""
    text = defused(unenclosed(markdown))
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
    said = list(paragraphs(report))
    if said:
        yield f"## {heading(report.language)}"
    for part in said:
        yield _plain(part.text)
        if part.items:
            yield "\n".join(f"- {_plain(item)}" for item in part.short)


def checks(report: Report) -> Iterator[str]:
    """Yield what the judges decided; nothing for a report that was not judged, or has nothing but quotations."""
    marks, language = marks_of(report), report.language
    if only_quotes(marks):
        return
    titles = {one.id: " ".join(one.title.split()) for one in report.sections if headed(one, report)}
    yield f"## {say('checks', language)}"
    yield _plain(summary(marks, language))
    yield "\n".join(_failure(group, titles, language) for group in failures(marks))


def _failure(group: Sequence[Mark], titles: Mapping[str, str], language: str) -> str:
    """Return a claim that is not supported: sign, verdict, section, words, and the reason."""
    first, gap = group[0], say("space", language)
    colon = say("colon", language)
    title = titles.get(first.section_id, "")
    said = f"{title}{colon}{first.text}" if title else first.text
    times = f" × {len(group)}" if len(group) > 1 else ""
    why = first.why(language)
    end = f"{gap}{bracketed(why, language)}" if why else ""
    kind = f"**{_plain(f'{first.sign} {say(first.kind, language)}{colon.rstrip()}')}**"
    return f"- {kind}{gap}{_plain(f'{said}{times}{end}')}"


def references(numbered: Numbered, report: Report) -> Iterator[str]:
    """Yield the two lists of sources and the statistics."""
    language = report.language
    named = {name for section in report.sections for name in cited(section.text or "")}
    passages: dict[str, list[Evidence]] = {}
    for item in report.evidence:
        if item.id in named:
            passages.setdefault(item.source_id, []).append(item)
    yield f"## {say('cited', language)}"
    yield _list(numbered.cited, passages, language) or say("none", language)
    if numbered.additional:
        yield f"## {say('additional', language)}"
        yield _list(numbered.additional, {}, language)
    yield f"## {say('statistics', language)}"
    yield "\n".join(f"- {line}" for line in statistics(numbered, language))


def _list(sources: Iterable[tuple[int, Source]], passages: Mapping[str, Sequence[Evidence]], language: str) -> str:
    return "\n".join(
        f"[{place}] {_plain(titled(source.hit.title))} - {_address(source.hit.url)}"
        f"{_where(places(passages.get(source.id, ()), source, language))}  "
        for place, source in sources
    )


def _where(said: str) -> str:
    return f" ({_plain(said)})" if said else ""


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
