"""Select pictures: a picture fits the section whose cited passages share words with its caption.

They are those of pages that the report cites, and those that a search for pictures found. A picture goes to the
paragraph that cites the passage with most words of its caption. Without a caption the title of the page counts, at half
the score.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import NamedTuple

from leadline.citations import cited
from leadline.records import Evidence, Hit, Image, Section, Source
from leadline.research_findings import Illustration
from leadline_plugins.text import content_words
from leadline_plugins.verification.lexicon import forms

# The name of a file, which some pages have in place of a caption.
_FILE = re.compile(r"\S*[./_]\S*")
# The minimum score, as when three of six words of a caption are in the section.
MIN_SCORE = 0.3
_WEB = ("http://", "https://")
# Minimum shared words; words added to short captions, so that one is not enough; the weight of titles.
_COMMON, _SMOOTH, _TITLE = 2, 2, 0.5


@dataclass(frozen=True)
class Candidate:
    """A picture, its section, and its score there (0 to 1)."""

    illustration: Illustration
    task_id: str
    score: float


class Origin(NamedTuple):
    """The page of a picture and the search task that led to it; `source_id` is empty if no source was read there."""

    source_id: str
    task_id: str
    page: str
    title: str
    rights: str = ""


def candidates(
    sections: Iterable[Section],
    evidence: Iterable[Evidence],
    sources: Mapping[str, Source],
    hits: Sequence[tuple[str, Hit]] = (),
) -> list[Candidate]:
    """Return the distinct pictures that fit, the best of every section first.

    `hits` are those of searches for pictures, each with the id of its task.
    """
    by_id = {item.id: item for item in evidence}
    best: dict[str, Candidate] = {}
    for section in sections:
        for candidate in _section_candidates(section, by_id, sources, hits):
            before = best.get(candidate.illustration.url)
            if before is None or candidate.score > before.score:
                best[candidate.illustration.url] = candidate
    ranks: Counter[str] = Counter()
    ranked = []
    for candidate in sorted(best.values(), key=lambda item: (-item.score, item.illustration.url)):
        section_id = candidate.illustration.section_id
        ranked.append((ranks[section_id], candidate))
        ranks[section_id] += 1
    return [candidate for _, candidate in sorted(ranked, key=lambda pair: pair[0])]


def next_candidates(
    waiting: Sequence[Candidate], taken: Iterable[Candidate], limit: int, per_task: int
) -> list[Candidate]:
    """Return the next pictures to try, within `limit` pictures in all and `per_task` of a search task."""
    taken = list(taken)
    tasks = Counter(candidate.task_id for candidate in taken)
    chosen: list[Candidate] = []
    for candidate in waiting:
        if len(taken) + len(chosen) < limit and tasks[candidate.task_id] < per_task:
            tasks[candidate.task_id] += 1
            chosen.append(candidate)
    return chosen


def _section_candidates(
    section: Section, evidence: Mapping[str, Evidence], sources: Mapping[str, Source], hits: Sequence[tuple[str, Hit]]
) -> Iterator[Candidate]:
    text = section.text or ""
    ids = dict.fromkeys(cited(text) or section.evidence_ids)
    by_source: dict[str, list[Evidence]] = {}
    every = [evidence[name] for name in ids if name in evidence]
    for item in every:
        by_source.setdefault(item.source_id, []).append(item)
    for source_id, items in by_source.items():
        source = sources.get(source_id)
        if source and (images := list(_images(source))):
            held = _words(section, items)
            origin = Origin(source.id, source.task_id, source.hit.url, source.hit.title)
            for image in images:
                yield from _scored(image, origin, section, items, held)
    held = _words(section, every) if hits and every else set()
    for task_id, hit in hits if every else ():
        image = Image(url=hit.images[0], caption=hit.title)
        yield from _scored(image, Origin("", task_id, hit.url, hit.title, hit.rights), section, every, held)


def _words(section: Section, items: Iterable[Evidence]) -> set[str]:
    return {*content_words(section.title), *(word for item in items for word in content_words(item.quote))}


def _images(source: Source) -> Iterator[Image]:
    """Yield the pictures of a web page, then those of its search result, which have no caption.

    Other documents have none: nothing is requested for private files.
    """
    if source.hit.url.startswith(_WEB):
        yield from source.document.images
        yield from (Image(url=url) for url in source.hit.images if url.startswith(_WEB))


def _scored(
    image: Image, origin: Origin, section: Section, items: Sequence[Evidence], held: set[str]
) -> Iterator[Candidate]:
    named = [text for text in (image.caption, image.alt) if not _FILE.fullmatch(text.strip())]
    about = " ".join(named).strip()
    words = dict.fromkeys(content_words(about or origin.title))
    common = sum(word in held for word in words)
    score = common / (len(words) + _SMOOTH) * (1 if about else _TITLE)
    if common < _COMMON or score < MIN_SCORE:
        return
    home = max(items, key=lambda item: len(set(words).intersection(content_words(item.quote))))
    caption = _without_number(next(filter(None, named), origin.title))
    illustration = Illustration(
        id=f"image-{blake2b(image.url.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}",
        url=image.url,
        source_id=origin.source_id,
        section_id=section.id,
        evidence_id=home.id,
        caption=caption,
        alt=image.alt or caption,
        page=origin.page,
        rights=origin.rights,
    )
    yield Candidate(illustration, origin.task_id, round(score, 6))


def _without_number(caption: str) -> str:
    """Return a caption without a number of its own, such as `Figure 4.12.`, if it has one."""
    match = _own_number().match(caption)
    return (match and caption[match.end() :].strip()) or caption


@cache
def _own_number() -> re.Pattern[str]:
    """Return the pattern of a label with its number, which has parts if no mark follows: `図 6.1 aptitude`."""
    captions = "|".join(map(re.escape, forms("captions")))
    end = r"(?:\d+(?:[.-]\d+)*\s*[:：.。\u3000–—-]|\d+(?:[.-]\d+)+\s)"
    return re.compile(rf"(?:{captions})\s*{end}(?!\d)", re.IGNORECASE)
