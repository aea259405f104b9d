"""Contracts of stages, map stages, middleware and observers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from leadline._runtime.runs.findings_board import misfit
from leadline.errors import Unavailable
from leadline.events import utc_now
from leadline.findings import Key
from leadline.hookspecs import Offer, map_stage
from leadline.records import (
    Blob,
    ChatReply,
    ChatRequest,
    Event,
    FetchRequest,
    Hit,
    Message,
    Record,
    SearchPage,
    SearchRequest,
)
from leadline.testing.context import FakeCall, fake_findings
from leadline.testing.contracts.base import PluginContract, Subject
from leadline.testing.contracts.checks import Failure, accepted, must

Tested = Subject[Any, Any]
Values = Mapping[Key[Any], Any]


class StageContract(PluginContract[Any, Any]):
    """Contract of stages. Set `tested`; fixture: `requests`, findings by key; also `new_run` if it makes calls.

    The reply that the tests compare is what the stage wrote, by the name of the key.
    """

    kind = "stages"
    verb = "run"

    @pytest.fixture(autouse=True)
    def _offer(self, offer: Offer[Any]) -> None:
        self.offered: Any = offer

    async def ask(self, plugin: Any, request: Values, call: FakeCall) -> dict[str, Any]:
        """Run the stage and return what it wrote."""
        findings = fake_findings(self.offered.make, request)
        returned = await plugin.run(findings, call.run)
        must(returned is None, f"returns {type(returned).__name__}; a stage writes to `findings` and returns nothing")
        return self._plain(findings.patch)

    def accept(self, request: Values, returned: Any, call: FakeCall) -> Any:
        """Return what the stage wrote, as JSON data by the name of the key."""
        self.check(request, returned, call)
        return returned

    def check(self, request: Values, reply: Any, call: FakeCall) -> None:
        """Check that each key of `gives` has a value after the stage."""
        known = {key.name for key in request} | set(reply)
        gives = () if isinstance(self.offered, map_stage) else self.offered.gives
        missing = [key.name for key in gives if not key.grows and key.name not in known]
        must(not missing, f"does not write {', '.join(missing)}, which its offer gives; declare it in `may_give`")

    def text_of(self, reply: Any) -> str:
        """Return all that was written as JSON."""
        return json.dumps(reply)

    @staticmethod
    def _plain(patch: Mapping[Key[Any], Any]) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        for key, value in patch.items():
            items = [accepted(item, key.type).model_dump(mode="json") for item in (value if key.grows else (value,))]
            plain[key.name] = items if key.grows else items[0]
        return plain

    async def test_it_does_without_what_it_only_wants(self, subject: Tested, requests: Sequence[Values]) -> None:
        wanted = {key.name for key in self.offered.wants}
        for request in requests:
            less = {key: value for key, value in request.items() if key.name not in wanted}
            if less != dict(request):
                await subject.reply(less)


class MapStageContract(StageContract):
    """Contract of map stages. Fixtures: as for stages; `requests` have items under the key `over`."""

    verb = "map"

    async def ask(self, plugin: Any, request: Values, call: FakeCall) -> dict[str, Any]:
        """Pass all items through the stage and return the results."""
        offer: Any = self.offered
        given = next((value for key, value in request.items() if key.name == offer.over.name), ())
        must(bool(given), f"give items of {offer.over.name} in `requests`")
        keys = (offer.gives, *offer.may_give)
        types = ", ".join(key.type.__name__ for key in keys)
        results: dict[Key[Any], list[Any]] = {key: [] for key in keys}
        work: list[Callable[..., Any]] = [partial(plugin.map, item) for item in given]
        if hasattr(plugin, "rest"):
            work.append(partial(plugin.rest, tuple(given)))
        for do in work:
            for result in await do(fake_findings(offer.make, request), call.run):
                key = next((key for key in keys if isinstance(result, key.type)), None)
                must(key is not None, f"returns a {type(result).__name__}; its offer gives {types}")
                assert key is not None
                fault = misfit(result, given)
                must(not fault, f"returns {fault}")
                results[key].append(result)
        return self._plain(results)


class _UnknownRequest(Record):
    subject: str


class _UnknownReply(Record):
    text: str


_ANSWERS: dict[type[Record], Record] = {
    ChatRequest: ChatReply(message=Message(role="assistant", text="Nine fathoms.")),
    SearchRequest: SearchPage(hits=(Hit(url="https://example.org/harbour", title="The harbour"),)),
    FetchRequest: Blob(name="harbour.txt", media_type="text/plain", data=b"Nine fathoms."),
}


class MiddlewareContract(PluginContract[Any, Any]):
    """Contract of middleware. Set `tested`; fixtures: `requests` and `answer` if it handles other kinds of calls.

    The requests are a chat, a search and a download, whose providers give the replies of `answer`.
    """

    kind = "middleware"
    verb = "around"

    @pytest.fixture
    def requests(self) -> Sequence[Record]:
        """Return a chat, a search and a download."""
        return [
            ChatRequest(model="m", messages=(Message(role="user", text="How deep is the harbour?"),)),
            SearchRequest(query="depth of the harbour"),
            FetchRequest(url="https://example.org/harbour"),
        ]

    def answer(self, request: Record) -> Record:
        """Return the reply of the provider."""
        return _ANSWERS.get(type(request), _UnknownReply(text="Nine fathoms."))

    def ask(self, plugin: Any, request: Record, call: FakeCall) -> Any:
        """Pass a call through the middleware to a provider that answers."""

        async def answered(changed: Any) -> Record:
            accepted(changed, type(request))
            await asyncio.sleep(0)
            return self.answer(request)

        return plugin.around(request, call, answered)

    def accept(self, request: Record, returned: object, call: FakeCall) -> Any:
        """Return the reply that passed, a record of the same type as the provider's."""
        return accepted(returned, type(self.answer(request)))

    async def test_it_says_whether_pieces_may_pass_before_the_reply(self, plugin: Any) -> None:
        live = getattr(plugin, "live", None)
        must(isinstance(live, bool), f"`live` is {live!r}; set it to True, or to False to see whole replies first")

    async def test_a_failure_of_the_provider_is_no_fault_of_it(
        self, subject: Tested, requests: Sequence[Record]
    ) -> None:
        async def fails(_: Any) -> Any:
            await asyncio.sleep(0)
            raise Unavailable("the service is closed")

        for request in requests:
            call = subject.new_call()
            result = await subject.outcome(subject.plugin.around(request, call, fails))
            must(isinstance(result, Failure) or bool(self.accept(request, result, call)), "loses the failure")

    async def test_a_call_of_an_unknown_kind_passes(self, subject: Tested) -> None:
        """Plugins make calls with records of their own (`run.call`)."""
        await subject.failure_or_reply(_UnknownRequest(subject="harbour"))


# Kind and data of the events of a run, one of each kind, and of a stage of somebody's own.
_EVENTS = json.loads(Path(__file__).with_name("events.json").read_text(encoding="utf-8"))


class ObserverContract(PluginContract[Any, Any]):
    """Contract of observers. Set `tested`; fixtures: `requests`, events, if it reads others than those of any run."""

    kind = "observers"
    verb = "observe"

    @pytest.fixture
    def requests(self, tmp_path: Path) -> Sequence[Event]:
        """Return the events of a run, of every kind, and events of a stage of somebody's own."""
        ids = {"run_id": "test", "trace_id": "0" * 32, "span_id": "0" * 16}
        events = [
            Event(seq=seq, time=utc_now(), kind=kind, data=data, **ids) for seq, (kind, data) in enumerate(_EVENTS)
        ]
        started = events[0].model_copy(update={"data": {**events[0].data, "folder": str(tmp_path)}})
        return [started, *events[1:]]

    def ask(self, plugin: Any, request: Event, call: FakeCall) -> Any:
        """Send an event."""
        return plugin.observe(request)

    def accept(self, request: Event, returned: object, call: FakeCall) -> None:
        """Check that the observer returned nothing."""
        must(returned is None, f"returns {type(returned).__name__} for {request.kind}; an observer returns nothing")

    def text_of(self, reply: Any) -> str:
        """Return nothing: there is no reply."""
        return ""

    async def test_it_says_whether_it_takes_pieces(self, plugin: Any) -> None:
        deltas = getattr(plugin, "deltas", True)
        must(isinstance(deltas, bool), f"`deltas` is {deltas!r}; it must be True or False")

    async def test_it_keeps_runs_apart(self, subject: Tested, requests: Sequence[Event]) -> None:
        """Runs share an observer, a killed one has no `run.finished`, and a resumed one begins with a higher number."""
        for request in requests:
            for run in ("one", "other"):
                if (run, request.kind) != ("one", "run.finished"):
                    await subject.reply(request.model_copy(update={"run_id": run}))
        for request in requests:
            await subject.reply(request.model_copy(update={"run_id": "one", "seq": request.seq + 1000}))
