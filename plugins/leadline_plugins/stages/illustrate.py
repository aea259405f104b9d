"""Stage `illustrate`: adds pictures of the cited pages, and of searches for pictures, checked and credited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pydantic import Field

from leadline.contracts import Call, StageRun
from leadline.encoding import digest
from leadline.errors import CallFailed, CallRefused
from leadline.findings import Findings
from leadline.plugin import PluginSettings, stage
from leadline.records import Blob, FetchRequest, Figure, Hit, Record
from leadline.research_findings import (
    EVIDENCE,
    FIGURES,
    ILLUSTRATIONS,
    QUESTION,
    SECTIONS,
    SOURCES,
    TASKS,
    Illustration,
    SearchTask,
)
from leadline_plugins.images import validation
from leadline_plugins.images.selection import Candidate, candidates, next_candidates
from leadline_plugins.images.validation import Picture
from leadline_plugins.prompting.fallback import notify
from leadline_plugins.stages.search import search_request

# Rounds of fetching: later ones replace unusable pictures.
_WAVES = 3
_SEARCH_FAILED = "a search for pictures failed: '{query}' ({reason})"
# Reasons in the notice; `images.json` lists all.
_SHOWN_REASONS = 3
_EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg"}


# Bytes of a picture; larger ones are not fetched.
SIZE = 8_000_000


class IllustrateSettings(PluginSettings):
    """The number of pictures in a report; `report.citation_images` turns them off."""

    max: int = Field(6, ge=0, description="Maximum number of pictures.")
    per_task: int = Field(2, ge=1, description="Maximum number of pictures of one search task.")


class PictureRequest(Record):
    """A picture to check: its address and the digest of its bytes."""

    url: str
    digest: str


class Attempt(NamedTuple):
    """A candidate with its picture, or the reason why it cannot be used."""

    candidate: Candidate
    picture: Picture | None = None
    reason: str = ""


@stage(
    "Adds pictures of the cited pages, and of searches for pictures, to the report, with their source",
    settings=IllustrateSettings,
    needs=(SECTIONS, QUESTION),
    wants=(EVIDENCE, SOURCES, TASKS),
    may_give=(ILLUSTRATIONS, FIGURES),
)
class IllustrateStage:
    """Fetches the best pictures together, and replaces those that cannot be used."""

    def __init__(self, settings: IllustrateSettings) -> None:
        self._settings = settings

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Add the figures, and all pictures that were tried."""
        if not (run.settings.report.citation_images and self._settings.max):
            return
        sources = {source.id: source for source in findings[SOURCES]}
        sections, evidence = findings[SECTIONS], findings[EVIDENCE]
        tasks, question = findings[TASKS], findings[QUESTION]
        results = await _search(tasks, question.language, run) if run.settings.search.images else []
        waiting = candidates(sections, evidence, sources, results)
        if not waiting:
            if results or any(source.document.images or source.hit.images for source in sources.values()):
                await notify(run, "no picture on the pages read fits the text of the report", "no_picture")
            return
        if not await run.fact("pictures can be read", validation.can_read_pictures):
            text = "no pictures were embedded: leadline plugins install '{extra}'"
            await notify(run, text, "no_pictures", extra=validation.EXTRA)
            return
        tried = await self._try(run, waiting)
        places = [section.id for section in sections]
        used = sorted(
            (attempt for attempt in tried if attempt.picture),
            key=lambda attempt: places.index(_illustration(attempt).section_id),
        )
        unused = [attempt for attempt in tried if not attempt.picture]
        omitted = [_illustration(attempt).model_copy(update={"reason": attempt.reason}) for attempt in unused]
        findings[ILLUSTRATIONS] = (*[await _saved(run, attempt) for attempt in used], *omitted)
        findings[FIGURES] = tuple(map(_figure, used))
        if unused:
            reasons = [attempt.reason for attempt in unused[:_SHOWN_REASONS]] + ["…"] * (len(unused) > _SHOWN_REASONS)
            left_out = "{count} of {all} pictures found on pages were left out ({reason})"
            await notify(run, left_out, "pictures", count=len(unused), all=len(tried), reason="; ".join(reasons))

    async def _try(self, run: StageRun, waiting: Sequence[Candidate]) -> list[Attempt]:
        """Return all attempts, in an order that does not depend on timing."""
        tried: list[Attempt] = []
        for _ in range(_WAVES):
            known = {attempt.candidate for attempt in tried}
            left = [candidate for candidate in waiting if candidate not in known]
            good = [attempt.candidate for attempt in tried if attempt.picture]
            batch = next_candidates(left, good, self._settings.max, self._settings.per_task)
            if not batch:
                break
            for attempt in await run.each(batch, lambda candidate: self._fetched(run, candidate)):
                tried.append(_without_duplicate(attempt, tried))
        return tried

    async def _fetched(self, run: StageRun, candidate: Candidate) -> Attempt:
        request = FetchRequest(url=candidate.illustration.url, accept=validation.ACCEPTED, size=SIZE)
        try:
            blob = await run.download(request)
            return Attempt(candidate, await _checked(run, blob))
        except CallRefused:
            raise
        except CallFailed as failed:
            return Attempt(candidate, reason=failed.record.message)


async def _search(tasks: Sequence[SearchTask], language: str, run: StageRun) -> list[tuple[str, Hit]]:
    """Return the pictures that `search.images` finds for the search tasks, each with the id of its task."""

    async def hits(task: SearchTask) -> Sequence[tuple[str, Hit]]:
        request = search_request(task.query, language, run).model_copy(update={"images": True})
        try:
            page = await run.search(request)
        except CallRefused:
            raise
        except CallFailed as failed:
            await notify(run, _SEARCH_FAILED, "picture_search", query=task.query, reason=failed.record.text)
            return ()
        return [(task.id, hit) for hit in page.hits if hit.images]

    return [result for each in await run.each(tasks, hits) for result in each]


async def _checked(run: StageRun, blob: Blob) -> Picture:
    async def check(_: PictureRequest, call: Call) -> Picture:
        return await validation.validate_picture(blob)

    return await run.call("picture", PictureRequest(url=blob.name, digest=digest(blob.data)), check, Picture)


def _without_duplicate(attempt: Attempt, before: Iterable[Attempt]) -> Attempt:
    """Return the attempt, without its picture if an earlier one looks the same."""
    if attempt.picture and any(other.picture and other.picture.looks_like(attempt.picture) for other in before):
        return attempt._replace(picture=None, reason=f"{_illustration(attempt).url}: shows the same as another one")
    return attempt


def _illustration(attempt: Attempt) -> Illustration:
    return attempt.candidate.illustration


async def _saved(run: StageRun, attempt: Attempt) -> Illustration:
    """Save a picture in the run folder and return its illustration with the path."""
    assert attempt.picture
    name = f"images/{_illustration(attempt).id}.{_EXTENSIONS[attempt.picture.media_type]}"
    await run.save(Blob(name=name, media_type=attempt.picture.media_type, data=attempt.picture.data))
    return _illustration(attempt).model_copy(update={"file": name})


def _figure(attempt: Attempt) -> Figure:
    assert attempt.picture
    illustration = _illustration(attempt)
    return Figure(
        id=illustration.id,
        caption=illustration.caption,
        alt=illustration.alt,
        # A picture that a search found is of no cited page: it has its place, and no citation.
        evidence_ids=(illustration.evidence_id,) if illustration.source_id else (),
        media={attempt.picture.media_type: attempt.picture.data},
        credit=illustration.page,
        rights=illustration.rights,
        section_id="" if illustration.source_id else illustration.section_id,
    )
