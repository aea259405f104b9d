"""What an admin sees: users, tokens, usage, runs at work, providers that fail, and the runs of everybody.

Of runs an admin sees who made them, when, how they ended and what they cost; not what was asked or answered.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from starlette.requests import Request

from leadline.records import Record
from leadline_server.access import role_refused
from leadline_server.endpoint import Endpoint
from leadline_server.queue.records import sums
from leadline_server.run_routes import number, required
from leadline_server.service import Service, identity_of
from leadline_server.views import RunPage


class Sum(Record):
    """What a user, a model or a day took; a run with several models counts for each."""

    runs: int = 0
    tokens: int = 0
    cost: float = 0


class UserView(Sum):
    """A user: the last request with a token or in a browser, the active runs, and what was spent in the days shown."""

    name: str
    last_seen: datetime | None
    active: int


class TokenView(Record):
    """A token without its secret; `expires` and `used` are null for never."""

    name: str
    user: str
    role: str
    created: datetime
    expires: datetime | None
    used: datetime | None


class ActiveView(Record):
    """A run that waits or is worked on."""

    run_id: str
    user: str | None
    state: str
    pipeline: str
    ordered: datetime


class ProviderView(Record):
    """A provider that failed since the server started: calls that failed and all, and the last success."""

    kind: str
    provider: str
    failed: int
    calls: int
    last_success: datetime | None


class AdminView(Record):
    """The state of the server for an admin, with sums since a day of UTC by user, by model and by day."""

    since: str
    users: tuple[UserView, ...]
    by_model: Mapping[str, Sum]
    by_day: Mapping[str, Sum]
    tokens: tuple[TokenView, ...]
    active: tuple[ActiveView, ...]
    failing: tuple[ProviderView, ...]


class AdminRoutes:
    """The handlers of `/v1/admin`, for admins only."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def endpoints(self) -> list[Endpoint]:
        """Return the routes."""
        days, page = {"days": "days of UTC to sum up, 30 without it"}, {"user": "name of the user", "after": "a run id"}
        return [
            Endpoint("GET", "/v1/admin", self.show, AdminView, query=days),
            Endpoint("GET", "/v1/admin/runs", self.runs, RunPage, query=page, errors=(422,)),
        ]

    async def show(self, request: Request) -> AdminView:
        """Return users, tokens, usage, active runs and failing providers."""
        self._check(request)
        days, service = number(request.query_params, "days", 30, 1, 3_660), self._service
        since = f"{datetime.now(UTC) - timedelta(days=days - 1):%Y-%m-%d}"
        spent = await asyncio.to_thread(service.queue.spent, since)
        tokens = await service.store.ask(service.store.tokens)
        active, seen = service.active.all(), await service.store.ask(service.store.session_users)
        for token in tokens:
            seen[token.principal] = max(token.used, seen.get(token.principal, 0.0))
        by_user, working = sums(spent, "principal"), Counter(run.principal for run in active)
        names = sorted({*seen, *by_user, *filter(None, working)} - {"-"})
        # Times are seconds; 0 is never.
        return AdminView.model_validate(
            {
                "since": since,
                "users": [
                    {"name": name, "last_seen": seen.get(name) or None, "active": working[name]} | by_user.get(name, {})
                    for name in names
                ],
                "by_model": sums(spent, "model"),
                "by_day": sums(spent, "day"),
                "tokens": [
                    vars(token)
                    | {"user": token.principal, "expires": token.expires or None, "used": token.used or None}
                    for token in tokens
                ],
                "active": [
                    vars(run) | {"user": run.principal, "pipeline": run.order.pipeline if run.order else ""}
                    for run in active
                ],
                "failing": service.metrics.failures(),
            }
        )

    async def runs(self, request: Request) -> RunPage:
        """List the runs of a user, without questions, tags and texts."""
        self._check(request)
        query = request.query_params
        user = required(query, "user", "GET /v1/admin/runs?user=NAME")
        page = await self._service.runs(user, after=query.get("after") or None)
        hidden = {"question": "", "tags": {}, "excerpt": "", "reason": "", "conversation": "", "follows": ""}
        return page.model_copy(update={"runs": tuple(run.model_copy(update=hidden) for run in page.runs)})

    def _check(self, request: Request) -> None:
        identity = identity_of(request)
        if identity.role != "admin":
            what = f"{request.method} {request.url.path}"
            raise role_refused(self._service.store, identity, "this is for admins only", what)
