"""The pages of one run: live, report beside its evidence, trail, checks, details; and the forms that control it."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup
from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from leadline.citations import cite, cited, number
from leadline.errors import LeadlineError
from leadline.events import utc_now
from leadline.records import Document, Evidence, Files, Hit, Report, Section, Source
from leadline.rendering import VERDICTS, clean
from leadline.run_summary import ACTIVE
from leadline.runs import OpenQuestion
from leadline_server.downloads import Downloads
from leadline_server.page import forms
from leadline_server.page.templating import Templates, own_tags
from leadline_server.page.trail import Trail
from leadline_server.page.watching import Trails
from leadline_server.page.wording import FORMATS
from leadline_server.problems import Problem
from leadline_server.queue import QueuedRun
from leadline_server.requests import Labels, NewShare, checked
from leadline_server.service import RunFilter, Service, principal_of
from leadline_server.sharing import share, share_of
from leadline_server.views import EvidenceView, RunView


@dataclass(frozen=True)
class Piece:
    """A piece of the source's text; `kind` is context, passage or quoted."""

    text: str
    kind: str


@dataclass(frozen=True)
class PassageView:
    """A passage with the number of its source in the report; None if it is not cited."""

    evidence: EvidenceView
    number: int | None
    pieces: tuple[Piece, ...]
    # The verdicts that come first: those on the claims whose citation was chosen.
    first: int = 1

    @property
    def is_cut(self) -> tuple[bool, bool]:
        """Whether text of the source is missing before and after."""
        evidence = self.evidence
        return evidence.text_begins > 0, evidence.text_begins + len(evidence.text) < evidence.text_length


def passage_view(evidence: EvidenceView, number: int | None, claims: Collection[str] = ()) -> PassageView:
    """Return a passage divided into pieces; the verdicts on these claims are the first."""
    # A statement that several sections repeat has a verdict in each.
    different = {(verdict.claim, verdict.verdict): verdict for verdict in evidence.verdicts}.values()
    mine = sorted(different, key=lambda verdict: verdict.claim not in claims)
    evidence = evidence.model_copy(update={"verdicts": tuple(mine)})
    begins, text = evidence.text_begins, evidence.text
    kinds = ["context"] * len(text)
    spans = [(*evidence.span, "passage")]
    spans += [(first, last, "quoted") for verdict in evidence.verdicts for first, last in verdict.spans]
    for first, last, kind in spans:
        for index in range(max(0, first - begins), min(len(text), last - begins)):
            kinds[index] = kind
    pieces: list[Piece] = []
    start = 0
    for index in range(1, len(text) + 1):
        if index == len(text) or kinds[index] != kinds[start]:
            pieces.append(Piece(clean(text[start:index]), kinds[start]))
            start = index
    return PassageView(
        evidence, number, tuple(pieces), len([verdict for verdict in mine if verdict.claim in claims]) or 1
    )


# Reports as HTML that are kept, because making one takes up to a second.
_KEPT = 8
_CONTEXT = 1_200
# Passages, and claims, on one page.
_MOST, _CLAIMS = 20, 100
# Past runs that are looked at for the time that one takes.
_HISTORY = 100
# How writers cite a passage in a draft.
_CITATION = re.compile(r" ?\[(\d{1,3})\]")
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
ACTIONS = ("stop", "cancel", "delete")


@dataclass(frozen=True)
class Facts:
    """What the head of a run shows."""

    claims: dict[str, int]
    total: int
    sources: int
    passages: int


class RunPages:
    """The handlers of `/runs/ID`."""

    def __init__(self, service: Service, templates: Templates, trails: Trails, downloads: Downloads) -> None:
        self._service, self._templates, self._trails, self._downloads = service, templates, trails, downloads
        self._made: dict[tuple[int, str], tuple[Report, Files]] = {}
        self._drafts: dict[str, tuple[Report, Markup]] = {}

    # --- pages ---------------------------------------------------------------------------------------------------

    async def show(self, request: Request) -> Response:
        """Show a run: while it works its trail, then its report."""
        run_id, principal, view = await self._view(request)
        trail = await self._trails.of(run_id, principal, active=view.status in ACTIVE)
        if view.status in ACTIVE:
            if trail.usual is None:
                trail.usual = (await usual_seconds(self._service, principal)).get(view.pipeline, 0.0)
            draft, progress = await self._draft(trail, view), trail.progress(view.ended or utc_now())
            return await self._page(request, "live.html", view, trail, draft=draft, progress=progress)
        if not (report := await self._report(run_id, principal, view)):
            return await self._page(request, "ended.html", view, trail)
        base, figures = f"/runs/{view.id}", f"/runs/{view.id}/figures/{{id}}"
        thread = await self._service.runs(principal, RunFilter(conversation=view.conversation or view.id))
        return await self._page(
            request,
            "report.html",
            view,
            trail,
            report=report,
            follow_key=secrets.token_urlsafe(16),
            follow_up=await follow_up(self._service, run_id, principal),
            parts=await self.fragment(
                report,
                passages=f"{base}/evidence/{{id}}",
                checks=f"{base}/checks?claim={{number}}#claim-{{number}}",
                figures=figures,
                documents="/documents/{id}",
            ),
            thread=thread.runs[::-1],
            uncited=len(report.uncited),
        )

    async def trail(self, request: Request) -> Response:
        """Show how the research went."""
        run_id, principal, view = await self._view(request)
        return await self._page(request, "trail.html", view, await self._trails.of(run_id, principal, active=False))

    async def checks(self, request: Request) -> Response:
        """Show every claim with its verdict, the judge's words and the judge."""
        run_id, principal, view = await self._view(request)
        report = await self._service.report(run_id, principal)
        chosen, claim = (request.query_params.get(name, "") for name in ("verdict", "claim"))
        kinds = [*(verdict.verdict for verdict in report.verdicts), *("uncited" for _ in report.uncited)]
        entries = zip(range(1, len(kinds) + 1), kinds, (*report.verdicts, *report.uncited), strict=True)
        rows = [row for row in entries if chosen in ("", row[1])]
        rows.sort(key=lambda row: list(VERDICTS).index(row[1]))
        page = next((index for index, row in enumerate(rows) if str(row[0]) == claim), 0) // _CLAIMS
        return await self._page(
            request,
            "checks.html",
            view,
            None,
            rows=rows[page * _CLAIMS : (page + 1) * _CLAIMS],
            pages=[row[0] for row in rows[::_CLAIMS]],
            page=page,
            counts={name: kinds.count(name) for name in VERDICTS if name in kinds},
            chosen=chosen,
        )

    async def details(self, request: Request) -> Response:
        """Show what a run used and chose, and its files."""
        _, _, view = await self._view(request)
        return await self._page(request, "details.html", view, None)

    async def evidence(self, request: Request) -> Response:
        """Show passages in their stored sources."""
        run_id, principal, view = await self._view(request)
        report = await self._service.report(run_id, principal)
        numbers, passages = number(report).by_evidence, list[PassageView]()
        first = _texts(report, request.query_params.get("claims", ""))
        for name in dict.fromkeys(request.path_params["names"].split(",")[:_MOST]):
            evidence = await self._service.evidence(run_id, name, principal, _CONTEXT)
            passages.append(passage_view(evidence, numbers.get(name), first))
        return await self._page(request, "evidence.html", view, None, passages=passages)

    async def figure(self, request: Request) -> Response:
        """Send the picture of a figure. Raises `Problem`."""
        run_id, principal, _ = await self._view(request)
        report = await self._service.report(run_id, principal)
        return figure_reply(report, request.path_params["name"])

    async def download(self, request: Request) -> Response:
        """Send the report in a format. Raises `Problem`."""
        run_id, principal, _ = await self._view(request)
        return await self._downloads.send(run_id, principal, request.path_params["format"], by_question=True)

    async def confirm(self, request: Request) -> Response:
        """Ask whether to stop, cancel or delete."""
        _, _, view = await self._view(request)
        action = request.path_params["action"]
        return await self._page(request, "confirm.html", view, None, action=action)

    # --- forms ---------------------------------------------------------------------------------------------------

    async def act(self, request: Request) -> Response:
        """Stop, cancel, delete or continue a run."""
        run_id, principal, _ = await self._view(request)
        form = await forms.read_form(request, self._service.limits.body)
        match request.path_params["action"]:
            case "stop":
                await self._service.stop(run_id, principal, "stopped on the page")
            case "cancel":
                await self._service.cancel(run_id, principal, "cancelled on the page")
            case "resume":
                await self._service.resume(run_id, principal, retry_failed=forms.first(form, "retry") == "on")
            case "delete":
                await self._service.delete(run_id, principal)
                await self._trails.forget(run_id, principal)
                return RedirectResponse("/runs?deleted=1", 303)
        return RedirectResponse(f"/runs/{run_id}", 303)

    async def edit(self, request: Request) -> Response:
        """Ask for the name, the pin and the tags of a run, or change them."""
        run_id, principal, view = await self._view(request)
        if request.method != "POST":
            return await self._page(request, "edit.html", view, None)
        form = await forms.read_form(request, self._service.limits.body)
        written, own = forms.first(form, "tags"), own_tags(view.tags)
        hidden = {name: value for name, value in view.tags.items() if name not in own}
        tags = None if written == forms.tag_text(own) else hidden | forms.tags(written)
        title = " ".join(forms.first(form, "title").split())
        labels = checked(Labels, title=title, pinned="pinned" in form, tags=tags)
        await self._service.label(run_id, principal, labels)
        return RedirectResponse(f"/runs/{run_id}", 303)

    async def share(self, request: Request) -> Response:
        """Ask who may read the report by a link, or show who may; a form makes or ends the link."""
        run_id, principal, view = await self._view(request)
        made = None
        if request.method == "POST":
            form = await forms.read_form(request, self._service.limits.body)
            if forms.first(form, "to") == "end":
                await asyncio.to_thread(self._service.store.end_share, run_id, principal)
            else:
                wanted = checked(NewShare, audience=forms.first(form, "audience"), days=forms.first(form, "days", "0"))
                made = await share(self._service, request, wanted)
        known = made
        with suppress(Problem):
            known = known or await share_of(self._service, run_id, principal)
        host = urlsplit(self._service.url or str(request.base_url)).hostname or ""
        is_local = host == "localhost" or host.startswith("127.") or host == "::1"
        return await self._page(request, "share.html", view, None, made=made, known=known, is_local=is_local)

    async def answer(self, request: Request) -> Response:
        run_id, principal, _ = await self._view(request)
        form = await forms.read_form(request, self._service.limits.body)
        await self._service.answer(run_id, principal, forms.first(form, "question_id"), forms.answer(form))
        return RedirectResponse(f"/runs/{run_id}", 303)

    # --- parts ---------------------------------------------------------------------------------------------------

    async def _view(self, request: Request) -> tuple[str, str | None, RunView]:
        run_id, principal = request.path_params["run_id"], principal_of(request)
        return run_id, principal, await self._service.view(run_id, principal)

    async def _report(self, run_id: str, principal: str | None, view: RunView) -> Report | None:
        if not has_report(view):
            return None
        try:
            return await self._service.report(run_id, principal)
        except Problem:
            return None

    async def fragment(self, report: Report, **addresses: JsonValue) -> dict[str, Markup]:
        """Return the text and the contents of a report as the format `html` makes them for a page."""
        key = (id(report), str(addresses["figures"]))
        known = self._made.get(key)
        if known is None or known[0] is not report:
            shown = report.model_copy(update={"metadata": {**report.metadata, "addresses": addresses}})
            self._made[key] = known = (report, await self._service.client.format(shown, "html"))
            while len(self._made) > _KEPT:
                self._made.pop(next(iter(self._made)))
        return {file.name.partition(".")[0]: Markup(file.data.decode()) for file in known[1].files}  # noqa: S704

    async def _draft(self, trail: Trail, view: RunView) -> Markup:
        """Return what is written of the report as it will look; its citations lead to the cards of the sources."""
        sections = [
            Section(id=str(place), title=title, text=_CITATION.sub(partial(_cite, trail.cited), text))
            for place, (title, text) in enumerate(trail.draft)
        ]
        if not sections:
            return Markup("")
        pages = [page for page in trail.pages.values() if page.id in trail.cited]
        report = Report(
            title=view.question,
            language="",
            sections=tuple(sections),
            sources=tuple(
                Source(id=page.id, hit=Hit(url=page.url, title=page.title), document=Document(text=page.title))
                for page in pages
            ),
            evidence=tuple(
                Evidence(id=page.id, source_id=page.id, quote=page.title, span=(0, len(page.title))) for page in pages
            ),
            metadata={"addresses": {"passages": "#source-{id}", "checks": "#", "figures": "#", "references": "#"}},
        )
        known = self._drafts.get(view.id)
        if known is None or known[0] != report:
            files = await self._service.client.format(report, "html")
            self._drafts[view.id] = known = (report, Markup(files.files[0].data.decode()))  # noqa: S704
            while len(self._drafts) > _KEPT:
                self._drafts.pop(next(iter(self._drafts)))
        return known[1]

    async def _page(self, request: Request, name: str, view: RunView, trail: Trail | None, **values: Any) -> Response:
        questions = [(question, question.until, fields(question)) for question in view.questions]
        is_active, report = view.status in ACTIVE, values.pop("report", None)
        report = report or await self._report(view.id, principal_of(request), view)
        return self._templates.page(
            request,
            name,
            run=view,
            base=f"/runs/{view.id}",
            trail=trail,
            report=report,
            facts=facts(view, report),
            questions=questions,
            is_active=is_active,
            now=utc_now(),
            audit_reasons=_rejected(view),
            before=waiting_before(self._service.active.of(principal_of(request)), view.id),
            downloads=await formats(self._downloads, report) if report else [],
            **values,
        )


def figure_reply(report: Report, name: str) -> Response:
    """Return the picture of a figure. Raises `Problem`."""
    figure = next((figure for figure in report.figures if figure.id == name), None)
    kinds = ("image/svg+xml", "image/png", "image/jpeg")
    media_type = next((kind for kind in kinds if figure and kind in figure.media), "")
    if not (figure and media_type):
        raise Problem(404, "not_found", "the report has no such figure")
    return Response(
        figure.media[media_type], media_type=media_type, headers={"Content-Security-Policy": _PICTURE_POLICY}
    )


def _cite(sources: Sequence[str], match: re.Match[str]) -> str:
    """Return the citation of a passage by its number as one of its source."""
    place = int(match[1]) - 1
    return cite(sources[place]) if 0 <= place < len(sources) else ""


async def usual_seconds(service: Service, principal: str | None) -> dict[str, float]:
    """Return how long the user's complete runs of each pipeline took in the middle."""
    times = defaultdict[str, list[float]](list)
    for run in (await service.runs(principal, RunFilter(status="complete"), limit=_HISTORY)).runs:
        times[run.pipeline].append(run.seconds)
    return {pipeline: median(seconds) for pipeline, seconds in times.items()}


async def form_again(service: Service, run_id: str, principal: str | None) -> dict[str, list[str]]:
    """Return the form that asks a run's question again. Raises `Problem`."""
    view, known = await service.view(run_id, principal), await asyncio.to_thread(service.queue.get, run_id, principal)
    view = view.model_copy(update={"tags": own_tags(view.tags)})
    return forms.of_run(view, known.order if known else None, service.documents.web())


async def follow_up(service: Service, run_id: str, principal: str | None) -> dict[str, list[str]]:
    """Return the form to follow a run up: with its pipeline, sources and settings. Raises `Problem`."""
    return {**await form_again(service, run_id, principal), "question": [], "tags": [], "follows": [run_id]}


def waiting_before(runs: Iterable[QueuedRun], run_id: str) -> int:
    """Return how many of these runs wait that were ordered before one of them; 0 if it is not among them."""
    waiting = sorted((run for run in runs if run.state == "waiting"), key=lambda run: run.ordered)
    return next((index for index, run in enumerate(waiting) if run.run_id == run_id), 0)


def facts(view: RunView, report: Report | None) -> Facts:
    """Return what the head of a run shows."""
    counts: Any = view.verification.get("claims")
    claims = {str(kind): int(times) for kind, times in counts.items()} if isinstance(counts, dict) else {}
    return Facts(
        claims=claims,
        total=sum(claims.values()),
        sources=len(report.sources) if report else 0,
        passages=len({name for section in report.sections for name in cited(section.text or "")}) if report else 0,
    )


async def formats(downloads: Downloads, report: Report) -> list[tuple[str, str]]:
    """Return the formats that work here with their labels, in the order in which readers want them."""
    try:
        names = [name for name in await downloads.formats() if name != "tables" or report.tables]
    except LeadlineError:
        return []
    order = list(FORMATS)
    names.sort(key=lambda name: (order.index(name) if name in FORMATS else len(order), name))
    return [(name, FORMATS.get(name, name)) for name in names]


def has_report(view: RunView) -> bool:
    return view.status in ("complete", "partial") or "report.json" in view.files


def _texts(report: Report, claims: str) -> set[str]:
    places = {int(name) for name in claims.split(",") if name.isdecimal() and len(name) < 7}
    return {verdict.claim.text for number, verdict in enumerate(report.verdicts, start=1) if number in places}


def _rejected(view: RunView) -> list[str]:
    """Return why the audit rejected a run; empty if it did not."""
    reasons: Any = view.audit.get("reasons")
    if view.audit.get("accepted") is not False:
        return []
    return [str(reason) for reason in reasons] if reasons else ["no reason was given"]


def fields(question: OpenQuestion) -> list[dict[str, Any]]:
    """Return the fields of the form that answers a question."""
    properties: Any = question.json_schema.get("properties")
    required: Any = question.json_schema.get("required")
    names = list(properties) if isinstance(properties, dict) else []
    rows = []
    for name in names:
        about = properties[name] if isinstance(properties[name], dict) else {}
        choices, default = about.get("enum"), about.get("default")
        kind = "lines" if "\n" in str(default) else str(about.get("type", "string"))
        rows.append(
            {
                "name": name,
                "label": str(about.get("title") or about.get("description") or name.replace("_", " ").capitalize()),
                "kind": "choice" if isinstance(choices, list) else kind,
                "choices": [str(choice) for choice in choices] if isinstance(choices, list) else [],
                "default": default,
                "required": isinstance(required, list) and name in required,
            }
        )
    return rows
