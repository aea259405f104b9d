"""Kills a run before and after the commits of its journal, and resumes it: `python crash_points.py FOLDER CASE POINTS`.

POINTS is a number of commits spread over the run, or `all`. Prints a line of JSON for each point. A run has as many
queries and model calls as it needs, and not one more. Each session is a forked child, killed by itself with SIGKILL in
the thread that commits; the calls of a session are written down before they are made.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import kills  # type: ignore[import-not-found]  # beside this script

import leadline
from leadline._hosting.catalog import PluginCatalog
from leadline._runtime.journal.storage import _JournalFile
from leadline.contracts import Call
from leadline.errors import LeadlineError
from leadline.plugin import ai_provider, middleware
from leadline.records import ChatReply, ChatRequest, Message, ModelTraits, Usage
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from emulator_says import say

Case = Literal["brief", "model", "fickle"]
Side = Literal["before", "after"]
ENOUGH = 1_000_000_000
SMALL = {"research.first_queries": 4, "research.followup_queries": 2, "research.pages_per_query": 1}


class Model:
    """The emulator's model in this process, streamed; a `fickle` one proposes other searches in each process."""

    def __init__(self, fickle: bool) -> None:
        self._fickle = fickle

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits(json_schema=True, model="emulated")

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        data = request.messages[-1].text.partition("<data>\n")[2].partition("\n</data>")[0]
        name, text = say(request.json_schema or {}, data)
        if self._fickle and name == "Plan":
            plan = json.loads(text)
            for query in plan["queries"]:
                query["query"] += f" {os.getpid()}"
            text = json.dumps(plan)
        for place in range(0, len(text), 200):
            call.emit("text", text[place : place + 200])
            await asyncio.sleep(0.05 if self._fickle else 0.003)
        call.spend(Usage(input_tokens=100, output_tokens=len(text) // 4))
        return ChatReply(message=Message(role="assistant", text=text), finish_reason="stop", model="emulated")


def client(folder: Path, case: Case, limits: dict[str, Any]) -> leadline.Client:
    slow = plugin("slow", middleware("Slows")(lambda: kills.Slow(folder / "calls.log")))
    model = plugin("emulated", ai_provider("A model")(lambda: Model(case == "fickle")))
    providers = ["embedded" if case == "brief" else "emulated"]
    chosen = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "ai.providers": providers}
    others = {"middleware": ["slow"], "observers": [], "retry.base": 0, "cache.search": "0", "cache.plan": "0"}
    return leadline.Client(
        plugins=[fake_web(), slow, model],
        folder=folder / "runs",
        cache=folder / "cache",
        set={**chosen, **others, **SMALL, **limits},
    )


@contextmanager
def killed_at(commit: int, side: Side, counted: Path) -> Iterator[None]:
    """Kill this process at a commit, counted from 1; otherwise write down the number of commits at the end."""
    transaction, count = _JournalFile.transaction, 0

    @contextmanager
    def counting(self: _JournalFile, *, durable: bool) -> Iterator[Any]:
        nonlocal count
        count += 1
        due = count == commit
        with transaction(self, durable=durable) as connection:
            yield connection
            if due and side == "before":
                os.kill(os.getpid(), signal.SIGKILL)
        if due:
            os.kill(os.getpid(), signal.SIGKILL)

    _JournalFile.transaction = counting  # type: ignore[method-assign]
    yield
    counted.write_text(str(count))


async def start(folder: Path, case: Case, limits: dict[str, Any], commit: int = 0, side: Side = "after") -> None:
    with killed_at(commit, side, folder / "commits"):
        async with client(folder, case, limits) as runs:
            keep(folder, await runs.research(kills.QUESTION))


async def resume(folder: Path, case: Case, limits: dict[str, Any]) -> None:
    await kills.committed(next((folder / "runs").iterdir()), folder / "kept.json")
    async with client(folder, case, limits) as runs:
        try:
            handle = await runs.resume(next((folder / "runs").iterdir()))
        except LeadlineError as error:
            if "no stored request" not in str(error):  # it had begun
                raise
            (folder / "result.json").write_text("null")
            return
        keep(folder, await handle.result())


def keep(folder: Path, result: leadline.Result) -> None:
    assert result.report is not None, result.reason
    told = result.metadata
    kept = {
        "status": result.status,
        "reason": result.reason,
        "budget": {name: told.budget[name] for name in ("model_calls", "queries")},
        "interrupted": told.interrupted_calls,
        "report": result.report.model_dump(mode="json", exclude={"metadata": {"created"}}),
    }
    (folder / "result.json").write_text(json.dumps(kept))


def run(folder: Path, work: Callable[[], Awaitable[None]]) -> bool:
    """Run a session in a child; return False if it was killed."""
    folder.mkdir(parents=True, exist_ok=True)
    code = os.waitstatus_to_exitcode(os.waitpid(kills.in_child(work), 0)[1])
    assert code in (0, -signal.SIGKILL), f"a session failed in {folder}"
    return code == 0


def result_of(folder: Path) -> Any:
    return json.loads((folder / "result.json").read_text())


def undisturbed(folder: Path, case: Case) -> tuple[dict[str, Any], Any, int]:
    """Return limits without anything to spare, the result of an undisturbed run within them, and its commits."""
    limits: dict[str, Any] = {"budget.reserve": 0, "budget.tokens": ENOUGH, "research.max_queries": 6}
    run(folder / "ample", lambda: start(folder / "ample", case, limits))
    used = result_of(folder / "ample")["budget"]
    limits |= {"budget.model_calls": used["model_calls"], "research.max_queries": used["queries"]}
    run(folder / "exact", lambda: start(folder / "exact", case, limits))
    found = result_of(folder / "exact")
    assert found["budget"] == used
    return limits, found, int((folder / "exact" / "commits").read_text())


def trial(folder: Path, case: Case, limits: dict[str, Any], commit: int, side: Side) -> dict[str, Any] | None:
    """Kill a run at a commit and resume it; None if it ended before."""
    if run(folder, lambda: start(folder, case, limits, commit, side)):
        return None
    before = (folder / "calls.log").read_text() if (folder / "calls.log").exists() else ""
    run(folder, lambda: resume(folder, case, limits))
    kept = set(json.loads((folder / "kept.json").read_text())) if (folder / "kept.json").exists() else set()
    after = (folder / "calls.log").read_text().removeprefix(before) if kept else ""
    repeated = len(kept & {line.split()[1] for line in after.splitlines()})
    return {"commit": commit, "side": side, "result": result_of(folder), "repeated": repeated}


def main(folder: Path, case: Case, points: str) -> None:
    PluginCatalog.discover().entries()  # once here, and not in every child
    limits, calm, commits = undisturbed(folder, case)
    print(json.dumps({"undisturbed": calm["status"], "budget": calm["budget"], "commits": commits}), flush=True)
    # Writes that wait together are one commit, so the number of commits varies a little.
    step = 1 if points == "all" else commits // (int(points) + 1)
    every = range(step, 2 * commits if points == "all" else commits, step)
    for commit in every:
        for side in ("before", "after"):
            found = trial(folder / f"{commit}{side}", case, limits, commit, side)
            if found is None:
                return
            result = found.pop("result")
            told = {name: result[name] for name in ("status", "reason", "budget", "interrupted")} if result else {}
            same = result is not None and result["report"] == calm["report"]
            print(json.dumps({**found, **told, "begun": result is not None, "same": same}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])  # type: ignore[arg-type]
