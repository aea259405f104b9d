"""The plugin `markdown`: the report as one Markdown file, sanitized, because any program may open it.

Other formats write a tree and need no sanitizing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any
from urllib.parse import quote

import yaml
from pydantic import Field

from leadline.citations import Numbered, cited, number, unenclosed
from leadline.contracts import Call
from leadline.plugin import PluginSettings, report_formatter
from leadline.records import Blob, Evidence, Files, Report, Section, Source
from leadline.rendering import clean, plain_title, readable_url, safe_url
from leadline_plugins.formats.arrangement import FEW, FIGURE, LONG, arranged, escaped
from leadline_plugins.formats.figures import Numbered as Picture
from leadline_plugins.formats.figures import data_url, numbered
from leadline_plugins.formats.marks import (
    ANSWERS,
    Mark,
    failures,
    has_heading,
    legend,
    marks_of,
    section_texts,
    summary,
    with_signs,
)
from leadline_plugins.formats.method import heading, paragraphs
from leadline_plugins.formats.passages import places
from leadline_plugins.formats.references import in_brackets, statistics
from leadline_plugins.formats.report_markdown import block_tokens, code_runs, parser
from leadline_plugins.wording.phrases import phrase

_WEB = r"(?:https?://|ftp://|mailto:|figure:|\#)"
# Kept as they are: code, escapes, tags and addresses of reports, figures, footnotes, links to the web, and citations
# before a colon in a sentence, which define no link.
_KEPT = rf"""(?P<code>(?<!`)(?P<ticks>`++).{{1,2000}}?(?<!`)(?P=ticks)(?!`))|\\.|</?(?:br|sub|sup)\s*/?>|<(?:https?://|mailto:)[^\s<>]+>
    |!\[[^\[\]]*\]\(figure:|\[\^[^\]\s]*\]:|\](?:\(|:)\s*<?{_WEB}
    |(?<=[^\W\d_])\ ?\[@[^\[\]\n]+\](?=:)"""
# A link that leads nowhere from here: its words remain.
_RELATIVE = rf"(?<!!)\[(?P<words>[^][@^<\n][^][<\n]*)\]\((?!<?{_WEB})[^][()\s]*\)"
_MARKS = re.compile(rf"(?P<kept>{_KEPT})|{_RELATIVE}|!(?=\[[^@^])|<(?=[A-Za-z/!?])|\](?=[(:])", re.DOTALL | re.VERBOSE)
_SUSPECT = re.compile(r"<[A-Za-z/!?]|!\[|\][(:]")
_HARMLESS = re.compile(rf"{_WEB}|</?(?:br|sub|sup)\s*/?>\Z", re.IGNORECASE | re.VERBOSE)
_HEADING = re.compile(r"#{1,5}[ \t]")
# What is not part of the address of a heading.
_NO_ANCHOR = re.compile(r"[^\w\- ]")
PICTURES = ("image/png", "image/svg+xml", "image/jpeg")


def sanitized(text: str) -> str:
    """Return a Markdown text that runs and loads nothing: links lead to the web, images are figures of the report.

    A text that still has anything else afterwards, or blocks nested too deep, is returned as a block of code.
    """
    if any(token.meta.get("deep") for token in block_tokens(text)):
        return fenced(text)
    if not _SUSPECT.search(text):
        return text
    result = "\n".join(_parts(text))
    return result if all(map(_HARMLESS.match, _active(result))) else fenced(text)


def fenced(text: str) -> str:
    """Return a text as a block of code."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _parts(text: str) -> Iterator[str]:
    """Yield runs of lines: code unchanged, other paragraphs with harmful markup escaped."""
    blank = re.compile(r"(\n[ \t]*\n)")
    for is_code, run in code_runs(text):
        yield run if is_code else "".join(_MARKS.sub(_escaped, part) for part in blank.split(run))


def _escaped(mark: re.Match[str]) -> str:
    if words := mark["words"] or mark["kept"]:
        return words
    return "]\\" if mark[0] == "]" else f"\\{mark[0]}"


def _active(text: str) -> Iterator[str]:
    """Yield the tags and the targets of links and images that a program with HTML support would find."""
    for token in parser(trusting=True).parse(text):
        if token.type == "html_block":
            yield token.content
        for part in token.children or ():
            if part.type == "html_inline":
                yield part.content
            elif part.type in {"link_open", "image"}:
                yield str(part.attrs.get("href" if part.type == "link_open" else "src", ""))


class MarkdownSettings(PluginSettings):
    """The head of the file."""

    front_matter: bool = Field(
        False, description="begin with YAML front matter: title, question, date, language, pipeline, trace and run ids"
    )


@report_formatter("Markdown, with numbered citations and two lists of sources", settings=MarkdownSettings)
class Markdown:
    """Renders Markdown."""

    def __init__(self, settings: MarkdownSettings | None = None) -> None:
        self._settings = settings or MarkdownSettings()

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `report.md`, its picture files, and `references.md` with the setting `report.resource_file`."""
        settings, report = call.run.settings.report, arranged(report)
        numbers, figures = number(report), numbered(report, PICTURES)
        inline = settings.figures == "inline"
        answer, *rest = body(report, numbers, figures, inline)
        lists = list(references(numbers, report)) if settings.references else []
        rest += (*method(report), *checks(report))
        alone = settings.resource_file and bool(report.sources)
        listed = contents([*rest, *(lists if not alone else [])], report.language)
        parts = [f"# {escaped(plain_title(report.title))}", answer, *listed, *rest]
        if self._settings.front_matter:
            parts.insert(0, front_matter(report, call))
        pictures = [item.file for item in figures.values() if item.file and not inline]
        if alone:
            return Files(files=(_file("report.md", parts), _file("references.md", lists), *pictures))
        return Files(files=(_file("report.md", [*parts, *lists]), *pictures))


def front_matter(report: Report, call: Call) -> str:
    """Return the facts of the report as YAML between two lines of dashes."""
    facts = {
        "title": " ".join(clean(report.title).split()),
        "question": str(report.metadata.get("question", "")),
        "date": str(report.metadata.get("created", ""))[: len("2026-01-31T23:59:59")],
        "language": report.language,
        "pipeline": call.run.settings.pipeline,
        "trace_id": [*call.traceparent.split("-"), "", ""][1],
        "run_id": call.run.id,
        "models": report.metadata.get("models", []),
    }
    text: str = yaml.safe_dump(facts, allow_unicode=True, sort_keys=False, width=1_000)
    return f"---\n{text}---"


def section_markdown(section: Section, numbers: Numbered, pictures: Mapping[str, Picture]) -> str:
    """Return a section with numbers as citations and pictures as files."""

    def shown(match: re.Match[str]) -> str:
        item = pictures.get(match[1])
        return f"![{escaped(item.figure.alt)}]({item.file.name})" if item and item.file else ""

    return numbers.render(FIGURE.sub(shown, sanitized(unenclosed(section.text or "")))).strip("\n")


def body(report: Report, numbers: Numbered, figures: Mapping[str, Picture], inline: bool) -> Iterator[str]:
    """Yield the legend of the marks with the answer, then the other sections."""
    legend_line = legend(marks_of(report), report.language)
    front = [f"*{escaped(legend_line)}*"] if legend_line else []
    sections = list(_sections(report, numbers, figures, inline))
    if report.sections and report.sections[0].id in ANSWERS and len(sections) > 1:
        front += sections.pop(0)
    yield "\n\n".join(front)
    yield from chain.from_iterable(sections)


def _sections(
    report: Report, numbers: Numbered, figures: Mapping[str, Picture], inline: bool
) -> Iterator[Sequence[str]]:
    marks, render, shown, part = marks_of(report), _renderer(report, numbers), set[str](), ""
    for section in report.sections:
        parts = [f"## {escaped(section.part)}"] if section.part and section.part != part else []
        part, deeper = section.part, "#" if section.part else ""
        if has_heading(section, report):
            parts.append(f"##{deeper} {escaped(section.title)}")
        for block in (block for text in section_texts(section, marks, report.language) for block in _blocks(text)):
            if deeper and _HEADING.match(block):
                block = f"{deeper}{block}"
            asked = [name for name in dict.fromkeys(FIGURE.findall(block)) if name in figures and name not in shown]
            shown.update(asked)
            if (text := FIGURE.sub("", block)).strip():
                parts.append(with_signs(render(text).strip("\n"), marks))
            parts += (_picture(figures[name], report, numbers, inline) for name in asked)
        yield parts


def contents(parts: Sequence[str], language: str) -> Iterator[str]:
    """Yield the contents of a long report as a list of links, as GitHub and most other programs name the headings."""
    if sum(map(len, parts)) <= LONG:
        return
    titles = [(len(sign), title) for part in parts for sign, _, title in [part.partition(" ")] if sign in ("##", "###")]
    titles = [(level, title) for level, title in titles if level == 2 or len(titles) <= FEW]
    yield f"## {phrase('contents', language)}"
    yield "\n".join(f"{'  ' * (level - 2)}- [{title}](#{_anchor(title)})" for level, title in titles)


def _anchor(title: str) -> str:
    return _NO_ANCHOR.sub("", title.lower()).replace(" ", "-")


def _renderer(report: Report, numbers: Numbered) -> Callable[[str], str]:
    """Return what replaces citations: by numbers, or by links to the passages if the report has an address for them."""
    addresses: Any = report.metadata.get("addresses") or {}
    address = addresses.get("passages")
    if not isinstance(address, str):
        return numbers.render
    return partial(numbers.render, address=lambda name: address.replace("{id}", quote(name)))


def _blocks(markdown: str) -> Iterator[str]:
    """Yield the source of each block of a text."""
    text = sanitized(unenclosed(markdown))
    lines = text.split("\n")
    starts = sorted({token.map[0] for token in block_tokens(text) if token.level == 0 and token.map} | {0})
    for start, end in pairwise([*starts, len(lines)]):
        yield "\n".join(lines[start:end]).strip("\n")


def _picture(item: Picture, report: Report, numbers: Numbered, inline: bool) -> str:
    marks = numbers.render("".join(f"[@{name}]" for name in item.figure.evidence_ids))
    caption = f"*{phrase('figure', report.language)} {item.number}. {escaped(item.figure.caption)}*{marks}"
    if item.figure.credit:
        caption += f" · {phrase('credit', report.language)}: {_address(item.figure.credit)}"
        caption += f" ({escaped(item.figure.rights)})" if item.figure.rights else ""
    if item.file is None:
        return f"[{escaped(item.figure.alt)}]\n\n{caption}"
    return f"![{escaped(item.figure.alt)}]({data_url(item.file) if inline else item.file.name})\n\n{caption}"


def method(report: Report) -> Iterator[str]:
    """Yield the methodology: scope, sources, limits, failures."""
    parts = list(paragraphs(report))
    if parts:
        yield f"## {heading(report.language)}"
    for part in parts:
        yield escaped(part.line(report.language))


def checks(report: Report) -> Iterator[str]:
    """Yield the verdicts; nothing for a report without verdicts."""
    marks, language = marks_of(report), report.language
    if not marks:
        return
    titles = {
        section.id: " ".join(section.title.split()) for section in report.sections if has_heading(section, report)
    }
    yield f"## {phrase('checks', language)}"
    yield escaped(summary(marks, language))
    yield "\n".join(_failure(group, titles, language) for group in failures(marks))


def _failure(group: Sequence[Mark], titles: Mapping[str, str], language: str) -> str:
    """Return a failed claim: sign, verdict, section, words and reason."""
    first, gap = group[0], phrase("space", language)
    colon = phrase("colon", language)
    title = titles.get(first.section_id, "")
    claim = f"{title}{colon}{first.text}" if title else first.text
    times = f" × {len(group)}" if len(group) > 1 else ""
    reason = first.explanation(language)
    end = f"{gap}{in_brackets(reason, language)}" if reason else ""
    kind = f"**{escaped(f'{first.sign} {phrase(first.kind, language)}{colon.rstrip()}')}**"
    return f"- {kind}{gap}{escaped(f'{claim}{times}{end}')}"


def references(numbered: Numbered, report: Report) -> Iterator[str]:
    """Yield the two lists of sources and the statistics, for a page or chat only the cited ones."""
    language = report.language
    if not report.sources:
        return
    named = {name for section in report.sections for name in cited(section.text or "")}
    passages: dict[str, list[Evidence]] = {}
    for item in report.evidence:
        if item.id in named:
            passages.setdefault(item.source_id, []).append(item)
    yield f"## {phrase('cited', language)}"
    yield _list(numbered.cited, passages, language) or phrase("none", language)
    if "addresses" in report.metadata:
        return
    if numbered.additional:
        yield f"## {phrase('additional', language)}"
        yield _list(numbered.additional, {}, language)
    yield f"## {phrase('statistics', language)}"
    yield "\n".join(f"- {line}" for line in statistics(numbered, language))


def _list(sources: Iterable[tuple[int, Source]], passages: Mapping[str, Sequence[Evidence]], language: str) -> str:
    return "\n".join(
        f"[{number}] {escaped(plain_title(source.hit.title))} - {_address(source.hit.url)}"
        f"{_where(places(passages.get(source.id, ()), source, language))}  "
        for number, source in sources
    )


def _where(location: str) -> str:
    return f" ({escaped(location)})" if location else ""


def _address(url: str) -> str:
    target = safe_url(url)
    return f"<{target}>" if target else escaped(readable_url(url))


def _file(name: str, parts: list[str]) -> Blob:
    text = clean("\n\n".join(filter(None, parts)) + "\n")
    return Blob(name=name, media_type="text/markdown; charset=utf-8", data=text.encode("utf-8", "replace"))
