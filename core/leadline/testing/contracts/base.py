"""The contract that plugins of every kind must fulfil."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

import pytest
import pytest_asyncio

from leadline._hosting.catalog import PluginCatalog, missing
from leadline._hosting.context import PluginContext
from leadline._hosting.lifecycle import PluginLifecycle, awaitable
from leadline._settings.redaction import secrets_of
from leadline._settings.schema import is_secret
from leadline._settings.secrets import SHORTEST, Secrets
from leadline.contracts import Context
from leadline.hookspecs import Offer, PluginSettings, offers_of
from leadline.records import Record
from leadline.settings import Settings
from leadline.testing.context import FakeCall, FakeRun, NewCall, fake_context
from leadline.testing.contracts.blame import (
    PluginCode,
    heavy_imports,
    held_by,
    line_of_import,
    modules_of,
    record_clock_reads,
    record_opened,
    refused_blocking_connections,
)
from leadline.testing.contracts.checks import (
    GRACE,
    Failure,
    accepted,
    all_end,
    ended,
    first_difference,
    force_end,
    must,
    outcome,
    record_tasks,
    start,
    succeeded,
    waiting_at,
    within,
    without_method,
)
from leadline.testing.plugins import plugin as entry_point

# The value of secrets in the settings of a tested plugin.
KEY = "leadline-test-key-of-32-letters!"
AT_ONCE = 10
# Iterations of the event loop after which a call is cancelled: at its beginning and in its middle.
_TURNS = tuple(2**power for power in range(10))
_MIXED = "do not keep data of a call in the instance; set `steady = False` if replies to one request may differ"
_OPEN = "use `context.http()`, which Leadline closes, or close it when the call or the plugin ends"
_HEAVY = "import it where it is used: `make`, or a method"
_CLOCK = "use `call.run.now()`, in a stage `run.now()`, which is the same when a run is resumed"
# Seconds after which a clock in seconds shows another time.
_A_SECOND = 1.05
_HELD = "wait with `await`, run blocking code with `context.in_thread`, compute with `leadline.workers.compute`"
Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)


class Subject(Generic[Q, R]):
    """The plugin under test: sends requests to it and checks what it returns or raises."""

    def __init__(self, contract: PluginContract[Q, R], plugin: Any, new_call: NewCall, secrets: Secrets) -> None:
        self.contract, self.plugin, self.new_call, self.secrets = contract, plugin, new_call, secrets

    async def outcome(self, work: object) -> object:
        """Return what a call returned, or the failure that it raised."""
        return await within(self.contract.patience, outcome(work, self.secrets))

    async def failure_or_reply(self, request: Q, call: FakeCall | None = None) -> Failure | R:
        """Return the checked reply to a request, or the failure that was raised."""
        call = call or self.new_call()
        result = await self.outcome(self.contract.ask(self.plugin, request, call))
        return result if isinstance(result, Failure) else self.contract.accept(request, result, call)

    async def reply(self, request: Q, call: FakeCall | None = None) -> R:
        """Return the checked reply to a request; a failure is an AssertionError."""
        return succeeded(await self.failure_or_reply(request, call))


class PluginContract(Generic[Q, R]):
    """The base of the contracts. Set `tested` to the decorated class, and override the fixtures that do not fit.

    | fixture | value |
    |---|---|
    | `settings` | its settings; by default all defaults, with `KEY` for each secret |
    | `requests` | one or more requests that it can answer |
    | `new_run` | a function that creates the run of a call; `FakeRun` with the replies of models and engines it asks |
    | `new_call` | a function that creates the call for a request |
    | `context` | the context that it receives when it is created |
    | `plugin` | the provider, created as Leadline creates it |
    | `subject` | asks the provider and checks its replies |
    | `refused` | optional: the provider with a service that refuses its requests |
    """

    pytestmark = pytest.mark.asyncio
    tested: ClassVar[Any]
    """The decorated class of the plugin."""
    kind: ClassVar[str]
    record: ClassVar[type[Record]]
    """The record of the reply."""
    verb: ClassVar[str]
    """The name of the method."""
    steady: ClassVar[bool] = True
    """True if equal requests get equal replies, also when they run concurrently."""
    patience: ClassVar[float] = 30.0
    """Seconds within which it must answer."""
    longest_hold: ClassVar[float] = 1.0
    """CPU seconds for which it may compute on the event loop at a stretch; it may not wait there at all."""

    # --- what is tested ---

    @pytest.fixture
    def offer(self) -> Offer[Any]:
        """Return what the decorator of the plugin says."""
        return offers_of(self.tested)[self.kind]

    @pytest.fixture
    def settings(self, offer: Offer[Any]) -> PluginSettings:
        """Return the settings of the plugin."""
        fields = offer.settings.model_fields.items()
        made: PluginSettings = offer.settings(**{name: KEY for name, field in fields if is_secret(field.annotation)})
        return made

    @pytest.fixture
    def secrets(self, settings: PluginSettings) -> Secrets:
        """Return a detector of the secrets in the settings."""
        texts = list(secrets_of(settings.model_dump()))
        short = [text for text in texts if 0 < len(text) < SHORTEST]
        must(not short, f"use secrets of at least {SHORTEST} characters in `settings`: shorter ones cannot be detected")
        return Secrets(texts)

    @pytest_asyncio.fixture
    async def context(self, tmp_path: Path) -> AsyncIterator[PluginContext]:
        """Return a context without parsers."""
        context = fake_context(tmp_path / "cache", name="tested")
        yield context
        await context.close()

    @pytest_asyncio.fixture
    async def plugin(self, offer: Offer[Any], settings: PluginSettings, context: PluginContext) -> AsyncIterator[Any]:
        """Create, enter and exit the plugin as Leadline does; skip the test if it cannot work here."""
        async with self.entered(offer, settings, context) as plugin:
            yield plugin

    @pytest.fixture
    def subject(self, plugin: Any, new_call: NewCall, secrets: Secrets) -> Subject[Q, R]:
        """Return the plugin under test, for tests that call it."""
        return Subject(self, plugin, new_call, secrets)

    @pytest.fixture
    def refused(self) -> Any:
        """Return the plugin with a service that refuses its requests; None skips the test."""
        return None

    @pytest.fixture
    def new_run(self) -> Callable[[], Any]:
        """Return a function that creates the run of a call: `lambda: FakeRun(replies={"my_task": MyReply(…)})`."""
        return FakeRun

    @pytest.fixture
    def new_call(self, new_run: Callable[[], Any]) -> NewCall:
        """Return a function that creates a call with its run."""
        return lambda: FakeCall(self.patience, new_run())

    @pytest.fixture
    def code(self, offer: Offer[Any]) -> PluginCode:
        """Return the files of the plugin, for errors that name its lines."""
        return PluginCode.of(offer.make, offer.settings)

    @pytest.fixture(autouse=True)
    def _connects_without_blocking(self, code: PluginCode) -> Iterator[None]:
        """Name the line that makes synchronous requests on the event loop, in whichever test it comes first."""
        with refused_blocking_connections(code):
            yield

    # --- for the contracts of the kinds ---

    @asynccontextmanager
    async def entered(self, offer: Offer[Any], settings: PluginSettings, context: Context) -> AsyncIterator[Any]:
        """Create, enter and exit the plugin; skip the test if it cannot work here."""
        if lacks := missing(offer):
            pytest.skip(f"needs {' '.join(lacks)}")
        if reason := offer.obstacle(settings, Settings()):
            pytest.skip(reason)
        ready = partial(awaitable, kinds=[self.kind], who="the plugin")
        lifecycle = PluginLifecycle("plugin 'tested'", partial(offer.create, settings, context), ready)
        try:
            plugin = await lifecycle.get()
            must(hasattr(plugin, self.verb), without_method(self.verb))
            yield plugin
        finally:
            await lifecycle.close()

    def ask(self, plugin: Any, request: Q, call: FakeCall) -> Any:
        """Call the method of the plugin."""
        return getattr(plugin, self.verb)(request, call)

    def accept(self, request: Q, returned: object, call: FakeCall) -> R:
        """Return the reply that a plugin returned, after all checks."""
        reply = accepted(returned, cast("type[R]", self.record))
        self.check(request, reply, call)
        return reply

    def check(self, request: Q, reply: R, call: FakeCall) -> None:
        """Raise AssertionError if a reply does not answer this request."""

    def text_of(self, reply: R) -> str:
        """Return everything in a reply as text."""
        return reply.model_dump_json()

    # --- the tests ---

    async def test_the_host_takes_the_offer(self, offer: Offer[Any]) -> None:
        catalog = PluginCatalog.discover([entry_point("contract_test", offer.make)])
        catalog.offer(self.kind, "contract_test")  # raises an error that names the problem
        must(
            bool(offer.summary.strip()) and "\n" not in offer.summary,
            "summary must be one line that describes the provider",
        )

    async def test_it_says_whether_it_is_ready(self, offer: Offer[Any], settings: PluginSettings) -> None:
        reason = offer.obstacle(settings, Settings())
        must(
            reason is None or (isinstance(reason, str) and bool(reason)),
            f"ready must return None or a reason, not {reason!r}",
        )

    async def test_it_answers(self, subject: Subject[Q, R], requests: Sequence[Q]) -> None:
        for request in requests:
            await subject.reply(request)

    async def test_it_answers_ten_at_once(self, subject: Subject[Q, R], requests: Sequence[Q]) -> None:
        several = list(islice(cycle(requests), AT_ONCE))
        together = await asyncio.gather(*map(subject.reply, several))
        if self.steady:
            alone = [await subject.reply(request) for request in several]
            mixed = [pair for pair in zip(alone, together, strict=True) if pair[0] != pair[1]]
            where = first_difference(*mixed[0]) if mixed else ""
            count = f"{len(mixed)} of {AT_ONCE} concurrent requests got a different reply than alone"
            must(not mixed, f"{count} ({where}): {_MIXED}")

    async def test_it_lets_itself_be_cancelled(
        self, subject: Subject[Q, R], requests: Sequence[Q], code: PluginCode
    ) -> None:
        for turns in _TURNS:
            work = self.ask(subject.plugin, requests[0], subject.new_call())
            task = start(outcome(work, subject.secrets))
            for _ in range(turns):
                await asyncio.sleep(0)
            if not task.done():
                line = waiting_at(task, code)
                must(await force_end(task), f"does not end within {GRACE:g} s after its cancellation{line}")
                if not task.cancelled():
                    raise AssertionError(f"{ended(task)} although it was cancelled{line}: let CancelledError propagate")
        await subject.reply(requests[0])

    async def test_it_leaves_nothing_running(
        self, subject: Subject[Q, R], requests: Sequence[Q], code: PluginCode
    ) -> None:
        with record_tasks(code) as begun:
            await subject.reply(requests[0])
        await all_end(begun, GRACE / 4)
        left = [task for task in begun if not task.done()]
        for task in left:
            await force_end(task)
        named = (f"{task.get_name()}, created at {begun[task] or 'an unknown line'}" for task in left)
        must(not left, f"leaves tasks running after its answer: {'; '.join(named)}")

    async def test_it_closes_what_it_opens(
        self,
        offer: Offer[Any],
        settings: PluginSettings,
        context: PluginContext,
        requests: Sequence[Q],
        new_call: NewCall,
        secrets: Secrets,
        code: PluginCode,
    ) -> None:
        with record_opened(code) as left:
            async with self.entered(offer, settings, context) as plugin:
                with suppress(AssertionError):  # its answer is the matter of the other tests
                    await Subject(self, plugin, new_call, secrets).reply(requests[0])
            await context.close()
            await asyncio.sleep(0)  # closed connections are told in the next iteration
            opened = "; ".join(dict.fromkeys(left()))
        must(not opened, f"leaves open after its end: {opened}: {_OPEN}")

    async def test_it_imports_nothing_heavy_at_the_top(self, offer: Offer[Any]) -> None:
        required = tuple(need.partition("=")[0] for need in offer.requires)
        for module in modules_of(offer.make, offer.settings):
            if module != type(self).__module__:
                heavy = await asyncio.to_thread(heavy_imports, module, required)
                line = line_of_import(module, heavy) if heavy else ""
                must(not heavy, f"the module {module} imports {', '.join(heavy)} at its top{line}: {_HEAVY}")

    async def test_it_leaves_the_event_loop_free(
        self, subject: Subject[Q, R], requests: Sequence[Q], code: PluginCode
    ) -> None:
        await subject.reply(requests[0])  # imports of the first call do not count
        held = await held_by(subject.reply(requests[0]), code)
        must(not held.line, f"blocked the event loop for {held.wait:.1f} s at {held.line}: {_HELD}")
        must(held.cpu <= self.longest_hold, f"computed on the event loop for {held.cpu:.1f} s: {_HELD}")

    async def test_its_replies_do_not_depend_on_the_clock(
        self, subject: Subject[Q, R], requests: Sequence[Q], code: PluginCode
    ) -> None:
        if not self.steady:
            pytest.skip("its replies may differ")
        with record_clock_reads(code) as lines:
            reply = await subject.reply(requests[0])
        if lines:
            await asyncio.sleep(_A_SECOND)
            later = await subject.reply(requests[0])
            where = first_difference(reply, later) if later != reply else ""
            must(not where, f"the reply depends on the time of day, read at {lines[0]} ({where}): {_CLOCK}")

    async def test_its_secrets_stay_inside(
        self,
        subject: Subject[Q, R],
        requests: Sequence[Q],
        caplog: pytest.LogCaptureFixture,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        if not subject.secrets:
            pytest.skip("its settings have no secret")
        caplog.set_level(logging.INFO)
        call = subject.new_call()
        reply = await subject.reply(requests[0], call)
        texts = {"the reply": self.text_of(reply), "the streamed text": "".join(piece for _, piece in call.emitted)}
        texts |= {"the log": caplog.text, "what it prints": "".join(capfd.readouterr())}
        for origin, text in texts.items():
            must(subject.secrets.scrub(text) == text, f"a secret is in {origin}")

    async def test_a_refusal_is_raised(
        self, refused: Any, requests: Sequence[Q], new_call: NewCall, secrets: Secrets
    ) -> None:
        if refused is None:
            pytest.skip("no fixture `refused`")
        result = await Subject(self, refused, new_call, secrets).failure_or_reply(requests[0])
        must(isinstance(result, Failure), f"returned {type(result).__name__} although its service refused the request")
        must(bool(re.search(r"\w", str(result))), "its error has no message: include the message of the service")
