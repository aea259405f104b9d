"""Reports that others read by a link: who may, what they see of the report, and what a wrong link is."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import datetime

from starlette.requests import Request

from leadline.citations import cited
from leadline.records import Record, Report
from leadline_server.access import SHARED
from leadline_server.problems import Problem
from leadline_server.requests import NewShare
from leadline_server.service import Service, address_of, identity_of, principal_of
from leadline_server.store import Audience
from leadline_server.views import RunView

# Facts of a report that its formats show.
_FACTS = ("question", "created", "models", "method")


class ShareView(Record):
    """A link to a report. `url` is told once, when it is made; `expires` is null for never."""

    run_id: str
    audience: Audience
    created: datetime
    expires: datetime | None = None
    url: str = ""


async def share(service: Service, request: Request, wanted: NewShare) -> ShareView:
    """Make a link to the report of a run, which ends the one before. Raises `Problem`."""
    run_id, principal = request.path_params["run_id"], principal_of(request)
    await service.report(run_id, principal)
    secret = await asyncio.to_thread(service.store.share, run_id, principal, wanted.audience, wanted.days)
    url = f"{service.url or str(request.base_url)}".rstrip("/") + SHARED + secret
    return (await share_of(service, run_id, principal)).model_copy(update={"url": url})


async def share_of(service: Service, run_id: str, principal: str | None) -> ShareView:
    """Return the link to the report of a run. Raises `Problem` if there is none."""
    for known in await service.store.ask(service.store.shares, principal, run_id):
        return ShareView.model_validate({**asdict(known), "expires": known.expires or None})
    raise Problem(404, "not_shared", "the report of this run is not shared")


async def open_shared(service: Service, request: Request) -> tuple[RunView, Report]:
    """Return the run and the report of a link. Raises the same `Problem` for every link that opens nothing."""
    known = await service.store.ask(service.store.shared, request.path_params["secret"])
    try:
        if known and (known.audience == "anyone" or not identity_of(request).is_nobody):
            view = await service.view(known.run_id, known.principal)
            return view, await service.report(known.run_id, known.principal)
    except Problem as problem:  # the run was deleted, or has no report any more
        if problem.status >= 500:
            raise
    service.guesses.take(address_of(request))
    raise Problem(404, "not_found", "there is no such report", "the link has ended, or is for people who log in here")


def without_sources(report: Report) -> Report:
    """Return what readers of a link get of a report: the passages that it quotes, without the texts of its sources."""
    quoted = {name for section in report.sections for name in cited(section.text or "")}
    for verdict in report.verdicts:
        quoted |= {verdict.evidence_id, *verdict.claim.evidence_ids}
    for ids in (*(figure.evidence_ids for figure in report.figures), *(item.evidence_ids for item in report.conflicts)):
        quoted |= {*ids}
    sources = tuple(
        source.model_copy(
            update={
                "hit": source.hit.model_copy(update={"text": None, "snippet": "", "passages": ()}),
                "document": source.document.model_copy(update={"text": "", "images": ()}),
            }
        )
        for source in report.sources
    )
    return report.model_copy(
        update={
            "sources": sources,
            "evidence": tuple(passage for passage in report.evidence if passage.id in quoted),
            "metadata": {name: report.metadata[name] for name in _FACTS if name in report.metadata},
        }
    )
