"""Passages in prompts: grouped by source, below their headings, numbered from 1.

Models cite passages by number, so prompts need no ids.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from leadline.citations import uncitable
from leadline.records import Evidence, Record, Source, Text, Tier
from leadline_plugins.prompting.inputs import quoted

# How replies cite passages by number, without the brackets.
_NUMBER = r"\^?@?\d{1,3}"
AND = r"[ \t]*(?:[,;，、；&]|and)[ \t]*"
RANGE = r"[ \t]*[-–—~][ \t]*"
CALLED = r"(?:(?:passages?|sources?|refs?)[ \t]{0,3}[:#]?[ \t]{0,3})?"
NUMBERS = rf"{CALLED}{_NUMBER}(?:(?:{AND}|{RANGE}){CALLED}{_NUMBER})*"
PLACE = r"[ \t]*(?:†[^\]】\n]{0,80})?"
# A reference mark of the page itself, outside of code, indexes and links: a model might copy it as a citation.
_PAGE_MARK = re.compile(
    rf"(```.*?```|`[^`\n]*`|(?<=[a-z_])\[\d+\])|\\?[\[【［][ \t]*({NUMBERS}){PLACE}[\]】］](?!\((?!#|https?:))",
    re.DOTALL | re.IGNORECASE,
)
_TIERS: dict[Tier, str] = {1: " (primary source)", 2: " (reputable secondary source)", 3: ""}
# Between the headings of a path.
ARROW = " > "


class ShownPassage(Record):
    """A passage with its number in the prompt; the fields are those of `Evidence`."""

    id: str
    number: int
    path: tuple[Text, ...] = ()
    page: int | None = None
    lead: Text = ""
    text: Text


class ShownSource(Record):
    """The passages of one source, in document order."""

    id: str
    title: Text
    # The host of its address; the scheme of another than a web page's.
    host: str = ""
    tier: Tier = 3
    published: str | None = None
    passages: tuple[ShownPassage, ...] = ()


def group_by_source(evidence: Iterable[Evidence], sources: Iterable[Source], start: int = 1) -> tuple[ShownSource, ...]:
    """Return passages grouped by source, numbered from `start`; the source of the best passage comes first.

    `evidence` is best first. Passages of unknown sources are left out.
    """
    known = {source.id: source for source in sources}
    by_source: defaultdict[str, list[Evidence]] = defaultdict(list)
    for item in evidence:
        if item.source_id in known:
            by_source[item.source_id].append(item)
    groups, number = [], start
    for source_id, items in by_source.items():
        source = known[source_id]
        title = source.hit.title or source.document.title or source.hit.url
        passages = []
        for item in sorted(items, key=lambda passage: passage.span):
            path = tuple(_line(name) for name in item.path if name.strip() != title.strip())
            lead, text = _without_marks(item.lead), _without_marks(item.quote)
            passages.append(ShownPassage(id=item.id, number=number, path=path, page=item.page, lead=lead, text=text))
            number += 1
        published = source.hit.published or source.document.published
        groups.append(
            ShownSource(
                id=source_id,
                title=_line(title),
                host=_host(source.hit.url),
                tier=source.tier,
                published=published and published[:10],  # the day
                passages=tuple(passages),
            )
        )
    return tuple(groups)


def _host(url: str) -> str:
    """Return the host of a web page, and the scheme of another address."""
    return urlsplit(url).hostname or "" if url.startswith("http") else url.partition("://")[0]


def _without_marks(text: str) -> str:
    """Return a text in which nothing looks like a citation: `[12]` becomes `(12)`."""
    return uncitable(_PAGE_MARK.sub(lambda match: match[1] or f"({match[2]})", text))


def _line(text: str) -> str:
    return " ".join(_without_marks(text).split())


def passages_text(sources: Iterable[ShownSource]) -> str:
    """Return sources as prompt text: title, headings where they change, numbered passages.

    Only marks begin with `#` and `[`, and what a page calls itself comes last, so that no page passes for another.
    """
    return "\n\n".join("\n".join(_lines(source)) for source in sources)


def _lines(source: ShownSource) -> Iterator[str]:
    facts = ", ".join(filter(None, (source.host, source.published)))
    yield f"# Source: {facts}{_TIERS[source.tier]}: {source.title}"
    path: tuple[str, ...] = ()
    for passage in source.passages:
        if passage.path != path and passage.path:
            yield f"## {ARROW.join(passage.path)}"
        path = passage.path
        yield f"[{passage.number}] {quoted(passage.lead, passage.text)}"


def ids_by_number(sources: Iterable[ShownSource]) -> dict[int, str]:
    """Return the ids of the passages by number."""
    return {passage.number: passage.id for source in sources for passage in source.passages}


def halve_passages(sources: Sequence[ShownSource], best_first: Sequence[str]) -> tuple[ShownSource, ...] | None:
    """Return the better half of the passages with unchanged numbers; None if only one is left.

    `best_first` are ids of passages. For prompts that are too long for a model.
    """
    keep = set(best_first[: len(best_first) // 2])
    return only_passages(sources, keep) if keep else None


def only_passages(sources: Sequence[ShownSource], ids: Container[str]) -> tuple[ShownSource, ...]:
    """Return the passages with these ids, with unchanged numbers."""
    shown = (
        source.model_copy(update={"passages": tuple(passage for passage in source.passages if passage.id in ids)})
        for source in sources
    )
    return tuple(source for source in shown if source.passages)
