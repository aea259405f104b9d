"""Calls that a client cancels, told from those whose client is gone: only the former cancel their runs.

The SDK cancels the function behind a call in both cases. A client that cancels sends a notification; over HTTP without
sessions (since protocol 2026-07-28) it closes the stream of the reply, as the protocol prescribes.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from leadline_server.mcp.runs import Runs

# Calls that are remembered after their end, because a notification may follow.
_KEPT = 1_000
_SESSION = "mcp-session-id"
_Context = ServerRequestContext[Any, Any]


class Call:
    """A call of a client and the run that belongs to it: an awaitable of its id, which may not have begun yet."""

    run: asyncio.Future[str] | None = None

    async def begin(self, start: str | Coroutine[Any, Any, str]) -> str:
        """Return the id of the run that was started, or is started now; a start goes on if the call is cancelled."""
        if isinstance(start, str):
            self.run = asyncio.get_running_loop().create_future()
            self.run.set_result(start)
        else:
            self.run = asyncio.create_task(start, name="start of a run")
        return await asyncio.shield(self.run)


class Cancelling:
    """A middleware of the MCP server that sees the notifications, and the runs of the calls in flight."""

    reason = "cancelled by the MCP client"

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._calls: OrderedDict[tuple[str, str], Call] = OrderedDict()

    async def __call__(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        """Pass a message on; a notification of a cancellation cancels the run of its call."""
        if ctx.method == "notifications/cancelled":
            call = self._calls.pop((_session(ctx), str((ctx.params or {}).get("requestId"))), None)
            self._cancel(call)
        return await call_next(ctx)

    @contextmanager
    def around(self, ctx: _Context) -> Iterator[Call]:
        """Watch over a call."""
        key, call = (_session(ctx), str(ctx.request_id)), Call()
        self._calls[key] = call
        while len(self._calls) > _KEPT:
            self._calls.popitem(last=False)
        try:
            yield call
        except asyncio.CancelledError:
            if ctx.request is not None and not _session(ctx) and not self._runs.closing():
                self._calls.pop(key, None)
                self._cancel(call)
            raise  # of the other ones a notification tells, before or after this
        except BaseException:
            self._calls.pop(key, None)
            raise
        else:
            self._calls.pop(key, None)

    def _cancel(self, call: Call | None) -> None:
        if call and call.run:
            self._runs.cancel_soon(call.run, self.reason)


def _session(ctx: _Context) -> str:
    """Return the id of the session over HTTP; empty where there is none."""
    return str(ctx.request.headers.get(_SESSION, "")) if ctx.request is not None else ""
