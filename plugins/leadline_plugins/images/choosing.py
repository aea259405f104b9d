"""Which pictures of the cited pages belong to which section: those whose own words are the section's words.

A page is asked for its pictures only where the report cites it, and a picture goes to the paragraph whose evidence its
caption has most to do with. A picture of which nothing is said has the title of its page, and counts half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from leadline.citations import cited
from leadline.findings import Illustration
from leadline.records import Evidence, Image, Section, Source
from leadline_plugins.text import content_words

FITS = 0.3
"""The score from which a picture fits: of a caption of six words three are the section's."""
_WEB = ("http://", "https://")
_COMMON, _SMOOTH, _UNSAID = 2, 2, 0.5
"""Words that must be shared; words that a short caption counts more, lest one word be enough; share of a bare title."""


@dataclass(frozen=True)
class Candidate:
    """A picture, where it would stand, and how well it fits there (0 to 1)."""

    illustration: Illustration
    task_id: str
    score: float


def candidates(
    sections: Iterable[Section], evidence: Iterable[Evidence], sources: Mapping[str, Source]
) -> list[Candidate]:
    """Return the pictures that fit, each once, the best of every section first."""
    by_id = {item.id: item for item in evidence}
    best: dict[str, Candidate] = {}
    for section in sections:
        for candidate in _of(section, by_id, sources):
            before = best.get(candidate.illustration.url)
            if before is None or candidate.score > before.score:
                best[candidate.illustration.url] = candidate
    ranks: Counter[str] = Counter()
    ranked = []
    for candidate in sorted(best.values(), key=lambda one: (-one.score, one.illustration.url)):
        section_id = candidate.illustration.section_id
        ranked.append((ranks[section_id], candidate))
        ranks[section_id] += 1
    return [candidate for _, candidate in sorted(ranked, key=lambda pair: pair[0])]


def chosen(waiting: Sequence[Candidate], taken: Iterable[Candidate], most: int, per_task: int) -> list[Candidate]:
    """Return the next pictures to try, so that with those taken there are at most so many, and so many a task."""
    taken = list(taken)
    tasks = Counter(one.task_id for one in taken)
    found: list[Candidate] = []
    for candidate in waiting:
        if len(taken) + len(found) < most and tasks[candidate.task_id] < per_task:
            tasks[candidate.task_id] += 1
            found.append(candidate)
    return found


def _of(section: Section, evidence: Mapping[str, Evidence], sources: Mapping[str, Source]) -> Iterator[Candidate]:
    text = section.text or ""
    ids = dict.fromkeys(cited(text) or section.evidence_ids)
    by_source: dict[str, list[Evidence]] = {}
    for item in (evidence[name] for name in ids if name in evidence):
        by_source.setdefault(item.source_id, []).append(item)
    for source_id, items in by_source.items():
        source = sources.get(source_id)
        if source and (images := list(_images(source))):
            held = {*content_words(section.title), *(word for item in items for word in _words(item))}
            for image in images:
                yield from _fitting(image, source, section, items, held)


def _images(source: Source) -> Iterator[Image]:
    """Yield the pictures of a page, then those its search result came with, of which nothing is said.

    Of a document that is no page of the web there are none: whoever reads private files asks nothing outside for them.
    """
    if source.hit.url.startswith(_WEB):
        yield from source.document.images
        yield from (Image(url=url) for url in source.hit.images if url.startswith(_WEB))


def _fitting(
    image: Image, source: Source, section: Section, items: Sequence[Evidence], held: set[str]
) -> Iterator[Candidate]:
    said = f"{image.caption} {image.alt}".strip()
    words = dict.fromkeys(content_words(said or source.hit.title))
    common = sum(word in held for word in words)
    score = common / (len(words) + _SMOOTH) * (1 if said else _UNSAID)
    if common < _COMMON or score < FITS:
        return
    home = max(items, key=lambda item: len(set(words).intersection(_words(item))))
    caption = image.caption or image.alt or source.hit.title
    illustration = Illustration(
        id=f"image-{blake2b(image.url.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}",
        url=image.url,
        source_id=source.id,
        section_id=section.id,
        evidence_id=home.id,
        caption=caption,
        alt=image.alt or caption,
        page=source.hit.url,
    )
    yield Candidate(illustration, source.task_id, round(score, 6))


def _words(item: Evidence) -> list[str]:
    return content_words(f"{item.claim} {item.quote}")
