"""Stage `illustrate`: pictures of the cited pages, fetched through the run, checked, and credited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import Field

from leadline.contracts import Call, Context, Run
from leadline.door.keys import digest
from leadline.errors import CallFailed, CallRefused
from leadline.findings import EVIDENCE, FIGURES, ILLUSTRATIONS, SECTIONS, SOURCES, Findings, Illustration
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Blob, FetchRequest, Figure, Record
from leadline_plugins.images import checking
from leadline_plugins.images.checking import Picture
from leadline_plugins.images.choosing import Candidate, candidates, chosen
from leadline_plugins.stages.degrade import tell

_WAVES = 3
"""Attempts to replace pictures that could not be used."""
_NAMED = 3
"""Reasons in the notice; `images.json` has all."""
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg"}


class IllustrateSettings(PluginSettings):
    """The number of pictures in a report; `report.citation_images` turns them off."""

    max: int = Field(6, ge=0, description="Pictures of a report at most.")
    per_task: int = Field(2, ge=1, description="Pictures from the pages of a search task at most.")
    size: int = Field(8_000_000, ge=1, description="Bytes of a fetched picture at most.")


class PictureRequest(Record):
    """A picture to be checked: its address and the digest of its bytes."""

    url: str
    digest: str


class Tried(NamedTuple):
    """A candidate, and the picture or the reason why there is none."""

    candidate: Candidate
    picture: Picture | None = None
    reason: str = ""


class Illustrating:
    """Fetches the best pictures at once, and others in place of those that fail."""

    def __init__(self, settings: IllustrateSettings) -> None:
        self._settings = settings

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Add the figures, and all pictures that were tried."""
        if not (run.settings.report.citation_images and self._settings.max):
            return
        sources = {source.id: source for source in findings[SOURCES]}
        sections, evidence = findings[SECTIONS], findings[EVIDENCE]
        waiting = candidates(sections, evidence, sources)
        if not waiting:
            if any(source.document.images or source.hit.images for source in sources.values()):
                await tell(run, "no picture of the pages that were read belongs to what the report says")
            return
        if not await run.fact("pictures can be read", checking.ready):
            await tell(run, f"no pictures were embedded: pip install '{checking.EXTRA}'")
            return
        tried = await self._try(run, waiting)
        places = [section.id for section in sections]
        used = sorted((one for one in tried if one.picture), key=lambda one: places.index(_of(one).section_id))
        unused = [one for one in tried if not one.picture]
        findings[ILLUSTRATIONS] = (*[await _saved(run, one) for one in used], *map(_unused, unused))
        findings[FIGURES] = tuple(map(_figure, used))
        if unused:
            reasons = [one.reason for one in unused[:_NAMED]] + ["…"] * (len(unused) > _NAMED)
            text = f"{len(unused)} of {len(tried)} pictures found on pages were left out"
            await tell(run, f"{text} ({'; '.join(reasons)})")

    async def _try(self, run: Run, waiting: Sequence[Candidate]) -> list[Tried]:
        """Return all that were tried, in an order that does not depend on timing."""
        tried: list[Tried] = []
        for _ in range(_WAVES):
            known = {one.candidate for one in tried}
            left = [candidate for candidate in waiting if candidate not in known]
            good = [one.candidate for one in tried if one.picture]
            batch = chosen(left, good, self._settings.max, self._settings.per_task)
            if not batch:
                break
            for one in await run.each(batch, lambda candidate: self._fetched(run, candidate)):
                tried.append(_new(one, tried))
        return tried

    async def _fetched(self, run: Run, candidate: Candidate) -> Tried:
        request = FetchRequest(url=candidate.illustration.url, accept=checking.ACCEPTED, size=self._settings.size)
        try:
            blob = await run.download(request)
            return Tried(candidate, await _checked(run, blob))
        except CallRefused:
            raise
        except CallFailed as failed:
            return Tried(candidate, reason=failed.record.message)


async def _checked(run: Run, blob: Blob) -> Picture:
    async def check(_: PictureRequest, call: Call) -> Picture:
        return await checking.picture(blob)

    return await run.call("picture", PictureRequest(url=blob.name, digest=digest(blob.data)), check, Picture)


def _new(one: Tried, before: Iterable[Tried]) -> Tried:
    """Return it without its picture where another one shows the same."""
    if one.picture and any(other.picture and other.picture.looks_like(one.picture) for other in before):
        return one._replace(picture=None, reason=f"{_of(one).url}: shows the same as another one")
    return one


def _of(one: Tried) -> Illustration:
    return one.candidate.illustration


def _unused(one: Tried) -> Illustration:
    return _of(one).model_copy(update={"reason": one.reason})


async def _saved(run: Run, one: Tried) -> Illustration:
    """Save a picture in the run folder and return it with the path."""
    assert one.picture
    name = f"images/{_of(one).id}.{_ENDINGS[one.picture.media_type]}"
    await run.save(Blob(name=name, media_type=one.picture.media_type, data=one.picture.data))
    return _of(one).model_copy(update={"file": name})


def _figure(one: Tried) -> Figure:
    assert one.picture
    said = _of(one)
    return Figure(
        id=said.id,
        caption=said.caption,
        alt=said.alt,
        evidence_ids=(said.evidence_id,),
        media={one.picture.media_type: one.picture.data},
        credit=said.page,
    )


def _make(settings: IllustrateSettings, context: Context) -> Illustrating:
    return Illustrating(settings)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        _make,
        IllustrateSettings,
        "Adds pictures of the cited pages to the report, with their source",
        needs=(SECTIONS,),
        wants=(EVIDENCE, SOURCES),
        may_give=(ILLUSTRATIONS, FIGURES),
    )
