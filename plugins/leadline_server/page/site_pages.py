"""The pages beside runs: the form to ask, history, comparison, settings and plugins, login."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from leadline.errors import ConfigError, LeadlineError, UsageError
from leadline.inventory import InstalledPipeline, Setting
from leadline.settings import Settings
from leadline_server.access import COOKIE, cookie, keep_session, unknown_token
from leadline_server.admin import AdminRoutes
from leadline_server.downloads import Downloads
from leadline_server.page import forms
from leadline_server.page.languages import gettext
from leadline_server.page.run_pages import follow_up, form_again, usual_seconds
from leadline_server.page.templating import Templates, static_file
from leadline_server.page.wording import LEVELS, ROUTER, STATUSES, WAYS
from leadline_server.pipelines import LACKS
from leadline_server.problems import Problem, problem_of
from leadline_server.requests import ALLOWED, LOWERED, NewRun
from leadline_server.service import RunFilter, Service, address_of, identity_of, principal_of
from leadline_server.sign_in import CALLBACK, LOGIN_SECONDS, Provider

# The cookie of a login that waits for the provider.
_LOGIN = "leadline_login"
_PAGE, _RECENT = 30, 8
# Runs that are looked through for those of a pipeline.
_MOST = 500
# Seconds after which a problem with the settings is looked for again.
_FRESH = 60.0
_LANGUAGES = {
    "auto": "As the question",
    "en": "English",
    "zh": "中文",
    "ja": "日本語",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
}


# Efforts that the form offers: title, words, pipeline, preset.
EFFORTS = (
    ("Quick", "An answer of a few paragraphs", "search", ""),
    ("Thorough", "A report of several pages, planned and read in rounds", "research", ""),
    ("Long", "15 to 20 pages with analysis and charts", "longform", "full"),
)
# Words of the efforts where no language model writes.
QUOTED = {
    "search": "About 200 words of quoted passages",
    "research": "About 400 words of quoted passages",
    "longform": "All quoted passages that match well",
}
EXAMPLES = (
    "How do European ports pay for shore power, and what does it bring them?",
    "What is known about the long-term effects of a four-day week?",
    "Which heat pumps suit old houses, and what do they cost to run?",
)


@dataclass(frozen=True)
class Choice:
    """A pipeline that the form to ask offers, with the estimate of a run.

    `value` is the pipeline and, after a space, a preset; `seconds` the time that a run usually takes, 0 if unknown.
    """

    about: InstalledPipeline
    value: str
    estimate: Any = None
    seconds: float = 0.0

    @property
    def lacks(self) -> str:
        """Why it cannot be chosen, in the words of a reader; empty if it can."""
        if not self.about.problem:
            return ""
        if missing := [gettext(LACKS[kind]) for kind in self.about.lacks if kind in LACKS]:
            return gettext("Needs %(what)s, which this server does not have.", what=gettext(" and ").join(missing))
        return gettext("Not set up on this server.")


@dataclass(frozen=True)
class Offered:
    """What the form to ask offers: efforts with title and words, and other pipelines; or why no run can start."""

    explanation: Any = None
    efforts: tuple[tuple[Choice, str, str], ...] = ()
    others: tuple[Choice, ...] = ()
    problem: str = ""

    @property
    def models(self) -> list[str]:
        """The models that runs ask."""
        estimates = [choice.estimate for choice, *_ in self.efforts] + [choice.estimate for choice in self.others]
        return list(dict.fromkeys(task.model for one in estimates if one for task in one.tasks if task.model))

    @property
    def quotes(self) -> bool:
        """Whether no model writes, so that reports quote passages."""
        return self.explanation is not None and not self.models

    def timed(self, times: Mapping[str, float]) -> Offered:
        """Return the offer with the times that runs of the pipelines usually take."""

        def with_time(choice: Choice) -> Choice:
            return replace(choice, seconds=times.get(choice.about.name, 0.0))

        efforts = tuple((with_time(choice), title, words) for choice, title, words in self.efforts)
        return replace(self, efforts=efforts, others=tuple(map(with_time, self.others)))


class SitePages:
    """The handlers of the other pages."""

    def __init__(
        self, service: Service, templates: Templates, downloads: Downloads, api: Callable[[], dict[str, Any]]
    ) -> None:
        self._service, self._templates, self._client = service, templates, service.client
        self._admin = AdminRoutes(service)
        self._provider = Provider(service.access.oidc, service.url) if service.access.oidc else None
        self._downloads, self._api = downloads, api
        self._offered: tuple[float, Offered] = (float("-inf"), Offered())
        self._offering = asyncio.Lock()

    @cached_property
    def _settings(self) -> Settings:
        return self._client.load(complete=False).settings

    async def home(self, request: Request) -> Response:
        """Show the form to ask, and the latest runs."""
        query, principal = request.query_params, principal_of(request)
        form = {name: query.getlist(name) for name in ("question", "documents", "document")}
        for name, fill in (("again", form_again), ("follows", follow_up)):
            if run_id := query.get(name):
                form = await fill(self._service, run_id, principal)
        return await self._home(request, form)

    async def _home(self, request: Request, form: forms.Form, problem: Problem | None = None) -> Response:
        principal, settings = principal_of(request), self._settings
        recent = await self._service.runs(principal, limit=_RECENT)
        sources = await self._service.documents.choice(form, principal)
        earlier = None
        if follows := forms.first(form, "follows"):
            with suppress(Problem):  # deleted
                earlier = await self._service.view(follows, principal)
        return self._templates.page(
            request,
            "home.html",
            problem.status if problem else 200,
            problem=problem,
            form=form,
            first=forms.first,
            key=secrets.token_urlsafe(16),
            offered=(await self._offer()).timed(await usual_seconds(self._service, principal)),
            router=ROUTER,
            ways=WAYS,
            chosen=forms.first(form, "pipeline") or settings.pipeline,
            examples=() if sources.count or not sources.web else EXAMPLES,
            settings=settings,
            languages=_LANGUAGES,
            models=self._service.models(identity_of(request)),
            webhooks=self._service.notifications.webhooks,
            mail_address=self._service.notifications.mail
            and await self._service.store.ask(self._service.store.address, principal),
            can_ask=identity_of(request).role != "reader",
            earlier=earlier,
            sources=sources,
            recent=recent.runs,
        )

    async def ask(self, request: Request) -> Response:
        """Accept a question; a form that is sent twice starts one run."""
        form = await forms.read_form(request, self._service.limits.body)
        try:
            body = forms.new_run(form)
            if not body.question:
                raise Problem(422, "invalid_request", "write a question")
            body = self._changed(body)
            run_id = await self._service.order(body, principal_of(request), forms.first(form, "key") or None)
        except Problem as problem:
            return await self._home(request, form, problem)
        except (ConfigError, UsageError) as error:
            return await self._home(request, form, problem_of(error))
        return RedirectResponse(f"/runs/{run_id}", 303)

    def _changed(self, body: NewRun) -> NewRun:
        """Return an order without the pipeline of the settings: a form sends all fields."""
        same = body.pipeline == self._settings.pipeline and "preset" not in body.set
        return body.model_copy(update={"pipeline": ""}) if same else body

    async def runs(self, request: Request) -> Response:
        query = request.query_params
        wanted = {name: query.get(name, "") for name in ("q", "status", "tag", "pipeline")}
        page = await self._service.runs(
            principal_of(request),
            RunFilter(wanted["q"], wanted["status"], wanted["tag"]),
            after=query.get("after") or None,
            limit=_MOST if wanted["pipeline"] else _PAGE,
        )
        chosen = [run for run in page.runs if wanted["pipeline"] in ("", run.pipeline)]
        runs, more = chosen[:_PAGE], len(chosen) > _PAGE
        pipelines = sorted(self._settings.pipelines)
        return self._templates.page(
            request,
            "runs.html",
            runs=runs,
            next=runs[-1].id if more else page.next,
            wanted=wanted,
            is_filtered=any(wanted.values()),
            all_statuses=STATUSES,
            pipelines=pipelines,
            chosen=query.get("with", ""),
            is_deleted="deleted" in query,
        )

    async def compare(self, request: Request) -> Response:
        """Show what two reports have in common and what not."""
        query, principal = request.query_params, principal_of(request)
        ids = [name for name in (query.get("a", ""), query.get("b", ""), *query.getlist("run")) if name]
        if len(ids) != 2:
            raise Problem(422, "invalid_request", "choose two runs to compare", "select two runs in the list of runs")
        first, second = ids
        views = [await self._service.view(name, principal) for name in ids]
        comparison = await self._service.compare(first, second, principal)
        return self._templates.page(request, "compare.html", found=comparison, first=views[0], second=views[1])

    async def settings(self, request: Request) -> Response:
        """Show the settings with their origins, and the plugins with what they lack."""
        try:
            plugins, problem = await self._downloads.plugins(), ""
        except LeadlineError as error:
            plugins, problem = [], str(error)
        settings, defaults = self._client.describe_settings(), dict[str, list[tuple[str, Setting]]]()
        for key, setting in settings.items():
            if setting.origin == "default":
                table = key.rpartition(".")[0] if key.startswith("plugins.") else key.partition(".")[0]
                defaults.setdefault(table, []).append((key, setting))
        return self._templates.page(
            request,
            "settings.html",
            own=[(key, setting) for key, setting in settings.items() if setting.origin != "default"],
            defaults=defaults,
            changeable={*ALLOWED, *LOWERED},
            plugins=plugins,
            problem=problem,
        )

    async def admin(self, request: Request) -> Response:
        """Show an admin users, usage, tokens, runs at work and failing providers; or the runs of a user."""
        view, user = await self._admin.show(request), request.query_params.get("user", "")
        page = await self._admin.runs(request) if user else None
        return self._templates.page(request, "admin.html", admin=view, user=user, listed=page)

    async def docs(self, request: Request) -> Response:
        """Show the description of the API."""

        def rows(schema: dict[str, Any]) -> list[dict[str, Any]]:
            required = schema.get("required", ())
            fields = schema["properties"].items()
            return [{"name": name, "schema": field, "required": name in required} for name, field in fields]

        return self._templates.page(request, "docs.html", api=self._api(), rows=rows)

    # --- login -----------------------------------------------------------------------------------------------------

    async def log_in_form(self, request: Request) -> Response:
        return self._log_in_form(request, _local(request.query_params.get("next")))

    def _log_in_form(self, request: Request, target: str, status: int = 200) -> Response:
        about = {"wrong": status != 200, "next": target, "provider": self._provider is not None}
        return self._templates.page(request, "login.html", status, **about)

    async def begin_sign_in(self, request: Request) -> Response:
        """Send the browser to the provider of logins."""
        self._service.guesses.take((address_of(request), "begin"))
        address, secret = await self._known_provider.begin(_local(request.query_params.get("next")))
        reply = RedirectResponse(address, 303)
        # Lax: the provider sends the browser back, which is a request that another site caused.
        secure = request.url.scheme == "https"
        reply.set_cookie(_LOGIN, secret, LOGIN_SECONDS, path=CALLBACK, secure=secure, httponly=True, samesite="lax")
        return reply

    async def end_sign_in(self, request: Request) -> Response:
        """Log the browser in that the provider sent back, by a page: the next request is then one of this site."""
        secret = cookie(request.headers, _LOGIN)
        session, target = await self._service.sign_in(request, self._known_provider, secret)
        reply = self._templates.page(request, "lead_on.html", target=target, words="You are logged in.")
        keep_session(request, reply, session, self._service.store.session_seconds)
        reply.delete_cookie(_LOGIN, path=CALLBACK, httponly=True, samesite="lax")
        return reply

    @property
    def _known_provider(self) -> Provider:
        if self._provider is None:
            raise Problem(404, "not_found", "this server has no provider of logins", "log in with a token")
        return self._provider

    async def log_in(self, request: Request) -> Response:
        """Exchange a token for the cookie of a session."""
        form = await forms.read_form(request, self._service.limits.body)
        target = _local(forms.first(form, "next"))
        try:
            _, session = await self._service.log_in(forms.first(form, "token").strip(), request)
        except Problem as problem:
            if problem.status != unknown_token().status:
                raise
            return self._log_in_form(request, target, problem.status)
        reply = RedirectResponse(target, 303)
        keep_session(request, reply, session, self._service.store.session_seconds)
        return reply

    async def log_out(self, request: Request) -> Response:
        """End the session."""
        await forms.read_form(request, self._service.limits.body)
        await self._service.log_out(request.state.identity)
        reply = RedirectResponse("/login", 303)
        reply.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
        return reply

    async def static(self, request: Request) -> Response:
        """Send a style sheet, script or icon."""
        return static_file(request.path_params["name"])

    # --- parts -----------------------------------------------------------------------------------------------------

    async def _offer(self) -> Offered:
        async with self._offering:  # the first visitor waits for it
            since, known = self._offered
            if known.efforts or known.others or time.monotonic() - since < _FRESH:
                return known
            try:
                known_pipelines = {about.name: about for about in await self._service.pipelines.all()}
                efforts = [
                    (await self._choice(known_pipelines.pop(name), f"{name} {preset}".strip()), title, words)
                    for title, words, name, preset in EFFORTS
                    if name in known_pipelines
                ]
                others = [await self._choice(about, name) for name, about in known_pipelines.items()]
                others.sort(key=self._rank)
                offered = Offered(self._client.explain(), tuple(efforts), tuple(others))
                if offered.quotes:
                    quoted = ((choice, title, QUOTED[choice.about.name]) for choice, title, _ in efforts)
                    offered = replace(offered, efforts=tuple(quoted))
            except LeadlineError as error:
                offered = Offered(problem=str(error))
            self._offered = (time.monotonic(), offered)
            return offered

    async def _choice(self, about: InstalledPipeline, value: str) -> Choice:
        """Return a pipeline with its estimate, if it can run."""
        estimate = None if about.problem else await self._client.estimate(pipeline=about.name)
        return Choice(about, value, estimate)

    def _rank(self, choice: Choice) -> tuple[bool, bool, int, str]:
        """Return the place of a pipeline: the usual one, then by level; last those that cannot run."""
        name, level = choice.about.name, choice.about.level
        default = self._client.plugins.settings.pipeline
        return bool(choice.about.problem), name != default, LEVELS.index(level) if level in LEVELS else 9, name


def _local(target: str | None) -> str:
    """Return an address on this server to go to after the login."""
    target = target or "/"
    is_local = target.startswith("/") and not target.startswith("//") and "\\" not in target
    return target if is_local and target.isprintable() else "/"
