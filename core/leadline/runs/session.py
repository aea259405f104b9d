"""One session of a run: from its journal to an honest end.

A run is one or several sessions over one journal. The pipeline always starts from its beginning; what had returned is
given again, so a session after a crash goes on where the last one stopped, and a session offline is a replay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from leadline.assemble import House
from leadline.computing import get_ready
from leadline.concurrency.crowd import run_under_way
from leadline.door.calls import Door
from leadline.door.secrets import Secrets
from leadline.errors import CallFailed, LeadlineError, ModelUnreachable, NeedsClarification, NoEvidence
from leadline.events import Bus, Subscription
from leadline.findings import QUESTION, REPORT, Question
from leadline.journal.journal import Journal
from leadline.journal.lineage import those_of
from leadline.pipeline import Pipeline
from leadline.result import Result
from leadline.runs.budget import Budget
from leadline.runs.earlier import TOLD, Earlier
from leadline.runs.ending import ending, in_vain, rejected
from leadline.runs.engine import Engine
from leadline.runs.opening import budget_of, bus_of, closing_stages, door_of, pipeline_of
from leadline.runs.order import Order
from leadline.runs.person import Asker
from leadline.runs.run import ActiveRun
from leadline.runs.state import EXIT_CODES, REJECTED, Metadata, RunState, Status
from leadline.runs.summary import files_of, summarize, write_metadata
from leadline.runs.troubles import lived_through

T = TypeVar("T")
INTERRUPTED = 130
"""The exit code of a run that was stopped from outside, whatever it could still write up."""


@dataclass
class Session:
    """One session of a run. Make it with `Session.open`, go through it with `go`."""

    order: Order
    folder: Path
    house: House
    journal: Journal
    pipeline: Pipeline
    bus: Bus
    run: ActiveRun
    door: Door
    budget: Budget
    state: RunState
    replaying: bool = False
    ended: Result | None = None
    why_cancelled: str = "cancelled"
    earlier: Earlier | None = None
    """What an earlier session left that was complete."""
    _engine: Engine | None = None
    _stopped: bool = False
    _exit_code: int | None = None

    @classmethod
    async def open(
        cls,
        order: Order,
        folder: Path,
        house: House,
        journal: Journal,
        *,
        asker: Asker | None = None,
        observers: Mapping[str, Any] | None = None,
    ) -> Session:
        """Put a session together; nothing is asked of anybody yet. Raises `ConfigError`."""
        pipeline = pipeline_of(house, order.pipeline)
        state = RunState(Secrets(house.loaded.secrets))
        bus = await bus_of(house, order, folder, observers or {}, replaying=journal.readonly)
        budget = budget_of(house, pipeline)
        run = ActiveRun(
            id=order.run_id,
            question=order.question,
            folder=folder,
            began=order.began,
            house=house,
            bus=bus,
            budget=budget,
            state=state,
            settings=house.settings,
            chosen=house.loaded.chosen,
            tags=order.tags,
            asker=asker,
            readonly=journal.readonly,
        )
        await house.open()
        door = await door_of(house, run, journal, budget, bus)
        run.open(door)
        state.expect(tuple(step.name for step in pipeline.steps()))
        return cls(order, folder, house, journal, pipeline, bus, run, door, budget, state, journal.readonly)

    def events(self) -> Subscription:
        """Return the events from now on, as an async iterator."""
        return self.bus.subscribe()

    def stop(self, reason: str) -> None:
        """Search no further; what is found so far is still written up.

        No model is asked anew meanwhile: calls under way are waited for, and sections not yet asked for become quotes.
        """
        self._stopped = True
        self.door.wind_down(reason, writing=self.state.current in closing_stages(self.pipeline))

    async def go(self) -> Result:
        """Go through the pipeline to an end that is told as it is; cancelled, it leaves nothing running."""
        with run_under_way():
            get_ready()
            return await self._go()

    async def _go(self) -> Result:
        try:
            await self._begin()
            await self._through()
            await self._settle()
        except NoEvidence as error:
            self._end("no_evidence", in_vain(error, self._engine, self.door.winding_down))
        except NeedsClarification as error:
            self._end("waiting", str(error), NeedsClarification.exit_code)
        except asyncio.CancelledError:
            self._end("cancelled", self.why_cancelled)
            raise
        except Exception as error:  # noqa: BLE001 - whatever a stage raises is the run's end, and told as such
            self.state.error(error)
            self._end("failed", self.state.errors[-1].message, getattr(error, "exit_code", None))
            await self.bus.emit("error", self.state.errors[-1].model_dump(mode="json"))
        finally:
            result = await to_the_end(self._finish())
        return result

    async def _begin(self) -> None:
        self.state.status = "running"
        loaded = self.house.loaded
        self.state.notices.extend(loaded.notices)
        await self._write_metadata()
        await self.bus.emit(
            "run.started",
            {
                "folder": str(self.folder),
                "question": self.order.question,
                "pipeline": self.order.pipeline,
                "steps": [step.name for step in self.pipeline.steps()],
                "choices": list(loaded.choices),
                "replay": self.replaying,
            },
        )
        for notice in loaded.notices:
            await self.bus.emit("notice", {"message": notice})

    async def _through(self) -> None:
        """Go through the pipeline; a passing failure of an agent's run is met by going on from where it was."""
        retry, attempt = self.house.settings.retry, 0
        while True:
            self._engine = Engine(self.pipeline, self.run, self.run)
            self._engine.board.put(QUESTION, Question(text=self.order.question))
            try:
                return await self._engine.go()
            except (CallFailed, ModelUnreachable) as failed:
                keys = self.door.escaped(failed)
                if self.replaying:
                    raise
                await self.journal.mark_escaped(keys)
                replayed = bool(keys & self.door.replayed)
                known = isinstance(failed, CallFailed) and failed.record.category in ("NETWORK", "LLM")
                passing = known and self.pipeline.level == "agent"
                if not replayed and (not passing or attempt >= retry.run_attempts):
                    raise
                await self.journal.forget(keys)
                if not replayed:
                    self.state.error(failed)
                    attempt += 1
                    await asyncio.sleep(min(retry.base * retry.factor ** (attempt - 1), retry.maximum))

    # --- the end -----------------------------------------------------------------------------------------------------

    async def _settle(self) -> None:
        """Decide how a run ended that went through its pipeline."""
        engine = self._engine
        assert engine is not None
        rows = self.journal.rows()
        if self.replaying:  # what another session failed at has no part in what this one went through
            rows = those_of(rows, self.door.replayed)
        for failed in self.state.unformatted.values():
            self.state.error(failed)
        unformatted = {name: failed.record.message for name, failed in self.state.unformatted.items()}
        self._end(*await ending(engine, self.house, self.journal, rows, self.door.winding_down, unformatted))
        if self.state.status == "complete" and rejected(engine.board):
            self._exit_code = REJECTED

    def _end(self, status: Status, reason: str, exit_code: int | None = None) -> None:
        self.state.end(status, reason)
        self._exit_code = INTERRUPTED if self._stopped else exit_code

    @property
    def engine(self) -> Engine | None:
        """What goes through the pipeline; None before it began."""
        return self._engine

    @property
    def exit_code(self) -> int:
        """The exit code of the run as it stands."""
        return EXIT_CODES.get(self.state.status, 1) if self._exit_code is None else self._exit_code

    async def _finish(self) -> Result:
        """Close everything; the last words are the metadata."""
        await self.run.leave_ahead()
        await self.door.close()
        if self.earlier and self.state.status != "complete" and self.state.notice(TOLD):
            await self.bus.emit("notice", {"message": TOLD})
        metadata = await self._last_metadata()
        await self.bus.emit("run.finished", {"status": self.state.status, "reason": self.state.reason})
        await self.bus.close()
        if self.earlier:
            await self.earlier.settle(self.journal, self.order, metadata)
            metadata = metadata.model_copy(update={"files": tuple(files_of(self.folder))})
        await self.journal.close(self.state.status)
        kept = self.state.status in ("complete", "partial") and self._engine is not None
        report = self._engine.board.get(REPORT) if kept and self._engine else None
        self.ended = Result(self.state.status, self.state.reason, self.exit_code, self.folder, metadata, report)
        return self.ended

    async def _last_metadata(self) -> Metadata:
        """Write the metadata; where that fails, the run says so and all the rest is still closed."""
        try:
            self.state.errors += await lived_through(self.journal, self.state.errors)
            return await self._write_metadata(ended=True)
        except (LeadlineError, OSError) as error:
            self.state.error(error)
            self._end("failed", str(error))
            return summarize(self, ended=True)

    async def _write_metadata(self, *, ended: bool = False) -> Metadata:
        metadata = summarize(self, ended=ended)
        if not self.replaying:
            await asyncio.to_thread(write_metadata, self.folder, metadata)
        return metadata


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Do what must be done whole; a cancellation meanwhile is raised when it is."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
