"""The MCP server on standard input and output, whose runs outlive its client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio

from leadline import Client
from leadline.client import Run
from leadline.errors import JournalBusy, LeadlineError, UsageError
from leadline.records import Answer, Report
from leadline_server.mcp.runs import Runs
from leadline_server.mcp.tools import WAIT, make_server
from leadline_server.pipelines import Pipelines
from leadline_server.requests import RUN_ID, NewRun
from leadline_server.views import RunView

# How often, and with how many seconds between, a run that was answered is tried to be continued.
_TRIES, _PAUSE = 50, 0.1


class LocalService:
    """A `RunService` that runs in this process, and sees the runs of others. Its methods raise `LeadlineError`.

    The process owns the runs: they go on when its client is gone.
    """

    def __init__(self, client: Client) -> None:
        self.client, self.pipelines = client, Pipelines(client)
        self._handles: dict[str, Run] = {}
        self._ended: dict[str, asyncio.Event] = {}

    async def order(self, body: NewRun, principal: str | None, key: str | None = None) -> str:
        """Start a run and return its id."""
        changed = {"pipeline": body.pipeline} if body.pipeline else None
        order = self.client.order(body.question, set=changed, principal=principal)
        self._keep(await self.client.run(order, principal=principal))
        return order.run_id

    async def resume(self, run_id: str, principal: str | None) -> None:
        """Continue a run that was interrupted, cancelled or failed."""
        folder = await self._folder(run_id, principal)
        self._keep(await self.client.resume(folder, principal=principal))

    async def view(self, run_id: str, principal: str | None) -> RunView:
        """Return a run as of now. Raises `UsageError` if there is none."""
        if handle := self._handles.get(run_id):
            return RunView.of(handle.snapshot())
        run = await asyncio.to_thread(self.client.find, await self._folder(run_id, principal))
        if run.metadata is None:
            raise LeadlineError(f"the state of the run {run_id} cannot be read; `leadline resume {run_id}` restores it")
        return RunView.of(run.metadata, run.status)

    async def answer(self, run_id: str, principal: str | None, question_id: str, answer: Answer) -> None:
        """Answer a question of a run, and continue it."""
        await self.client.answer(await self._folder(run_id, principal), question_id, answer, principal=principal)
        for _ in range(_TRIES):
            with suppress(JournalBusy):  # another process goes on with it, or this one is about to let it go
                await self.resume(run_id, principal)
                return
            await asyncio.sleep(_PAUSE)
            if (await self.view(run_id, principal)).status != "waiting":
                return

    async def cancel(self, run_id: str, principal: str | None, reason: str) -> None:
        """Cancel a run of this or another process."""
        await self.client.cancel(await self._folder(run_id, principal), reason, principal=principal)

    async def report(self, run_id: str, principal: str | None) -> Report:
        return await self.client.report(await self._folder(run_id, principal), principal=principal)

    async def file(self, run_id: str, name: str, principal: str | None) -> Path:
        return await self._folder(run_id, principal) / name

    async def all_ended(self) -> None:
        """Return when no run of this process is left."""
        while events := tuple(self._ended.values()):
            await asyncio.gather(*(event.wait() for event in events))

    async def _folder(self, run_id: str, principal: str | None) -> Path:
        if not RUN_ID.fullmatch(run_id):
            raise UsageError(f"{run_id!r:.80} is not the id of a run, such as 1a2b3c4d_20260131_120000")
        folder = self.client.runs_folder(principal=principal).absolute() / run_id
        if not await asyncio.to_thread(folder.is_dir):
            raise UsageError(f"there is no run {run_id}")
        return folder

    def _keep(self, handle: Run) -> None:
        handle.events().close()  # without a reader they would be kept until the end
        self._handles[handle.id] = handle
        self._ended.setdefault(handle.id, asyncio.Event())
        handle.when_ended(self._forget)

    def _forget(self, handle: Run) -> None:
        if self._handles.get(handle.id) is handle:
            del self._handles[handle.id]
            self._ended.pop(handle.id).set()


async def serve(client: Client, *, wait: float = WAIT, released: Callable[[], None] = lambda: None) -> None:
    """Serve one client; then call `released`, and return when the runs that it started have ended.

    Raises `ConfigError` if the settings are wrong.
    """
    async with client:
        _ = client.plugins  # wrong settings are told now, not by the first call
        service = LocalService(client)
        runs = Runs(service)
        try:
            await make_server(runs, wait=wait).run_stdio_async()
        except* (BrokenPipeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the client died while replies were written: it has left, too
        released()
        await runs.all_cancelled()
        await service.all_ended()
