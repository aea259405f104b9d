"""What holds for plugins of every kind."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

import pytest
import pytest_asyncio

from leadline.door.secrets import SHORTEST, Secrets
from leadline.hookspecs import Offer, PluginSettings
from leadline.hosting.asynchronous import awaitable
from leadline.hosting.context import HouseContext
from leadline.hosting.host import Host
from leadline.hosting.lifecycle import Keeper
from leadline.hosting.requirements import missing
from leadline.records import Record
from leadline.settings.secrecy import secrets_of
from leadline.settings.types import is_secret
from leadline.testing.context import FakeCall, FakeRun, fake_context
from leadline.testing.contracts.conduct import (
    GRACE,
    Failure,
    answered,
    check_spent,
    ended,
    longest_hold,
    must,
    outcome,
    put_down,
    taken,
    watching,
    within,
)
from leadline.testing.plugins import plugin as entry_point

KEY = "leadline-test-key-of-32-letters!"
"""What stands where the settings of a plugin want a secret, unless a test gives settings of its own."""
AT_ONCE = 10
_TURNS = tuple(2**power for power in range(10))
"""Of the event loop, after which a call is cancelled: at its beginning, and in its midst."""
_MIXED = "what belongs to a call must not stand in the instance; `steady = False` where no two replies are the same"
_HELD = "wait with `await`, call what blocks by `context.in_thread`, compute by `leadline.computing.compute`"
Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)


class PluginContract(Generic[Q, R]):
    """The base of the contracts. Give a fixture `offer`; override the others where they do not fit.

    | fixture | is |
    |---|---|
    | `offer` | what the plugin offers, an `Offer` |
    | `settings` | its settings; by default all defaults, and `KEY` for each secret |
    | `requests` | what it is asked, one or several; it must be able to answer each |
    | `new_call` | makes the call that goes with a request |
    | `context` | what it is lent when it is made |
    | `plugin` | itself, made as the house makes it |
    | `refused` | itself before a service that refuses it, if that can be had |
    """

    pytestmark = pytest.mark.asyncio
    kind: ClassVar[str]
    record: ClassVar[type[Record]]
    """Of the reply."""
    verb: ClassVar[str]
    """The method that is awaited."""
    steady: ClassVar[bool] = True
    """Whether the same request gets the same reply: then it does so too when it is asked beside others."""
    patience: ClassVar[float] = 30.0
    """Seconds in which it must answer."""
    longest_hold: ClassVar[float] = 1.0
    """Seconds for which it may keep the event loop to itself: all runs of the process stand still meanwhile."""

    # --- what is tested ---

    @pytest.fixture
    def settings(self, offer: Offer[Any, Any]) -> PluginSettings:
        """Return the plugin's settings."""
        fields = offer.settings.model_fields.items()
        made: PluginSettings = offer.settings(**{name: KEY for name, field in fields if is_secret(field.annotation)})
        return made

    @pytest.fixture
    def secrets(self, settings: PluginSettings) -> Secrets:
        """Return what finds the secrets of the settings."""
        texts = list(secrets_of(settings.model_dump()))
        short = [text for text in texts if 0 < len(text) < SHORTEST]
        must(not short, f"give settings whose secrets have {SHORTEST} characters: shorter ones are not looked for")
        return Secrets(texts)

    @pytest_asyncio.fixture
    async def context(self, tmp_path: Path) -> AsyncIterator[HouseContext]:
        """Lend what the house lends: with no parser."""
        context = fake_context(tmp_path / "cache", name="tested")
        yield context
        await context.close()

    @pytest_asyncio.fixture
    async def plugin(
        self, offer: Offer[Any, Any], settings: PluginSettings, context: HouseContext
    ) -> AsyncIterator[Any]:
        """Make, enter and leave the plugin as the house does; skips where it cannot work here."""
        if lacks := missing(offer):
            pytest.skip(f"pip install {' '.join(lacks)}")
        if reason := offer.ready(settings):
            pytest.skip(reason)
        ready = partial(awaitable, kinds=[self.kind], who="the plugin")
        keeper = Keeper("tested", partial(offer.make, settings, context), ready)
        yield await keeper.get()
        await keeper.close()

    @pytest.fixture
    def refused(self) -> Any:
        """Return the plugin before a service that refuses it; None: nothing is asked of that."""
        return None

    @pytest.fixture
    def new_call(self) -> Callable[[], FakeCall]:
        """Return what makes a call; its run has settings and a clock, and no door."""

        def make() -> FakeCall:
            call = FakeCall(seconds=self.patience)
            call.run = FakeRun()
            return call

        return make

    # --- for the contracts of the kinds ---

    def ask(self, plugin: Any, request: Q, call: FakeCall) -> Any:
        """Begin what the plugin does."""
        return getattr(plugin, self.verb)(request, call)

    def check(self, request: Q, reply: R, call: FakeCall) -> None:
        """Raise AssertionError where a reply is none to this request."""

    async def reply(self, plugin: Any, request: Q, call: FakeCall, secrets: Secrets) -> R:
        """Return the reply to a request, checked."""
        reply: R = await answered(self.ask(plugin, request, call), self._record, secrets, self.patience)
        self.check(request, reply, call)
        check_spent(call)
        return reply

    @property
    def _record(self) -> type[R]:
        return cast("type[R]", self.record)

    async def failure_or_reply(self, plugin: Any, request: Q, call: FakeCall, secrets: Secrets) -> Failure | R:
        """Return the reply to a request that cannot be answered well, checked, or the failure that was raised."""
        found = await within(self.patience, outcome(self.ask(plugin, request, call), secrets))
        if isinstance(found, Failure):
            return found
        reply = taken(found, self._record)
        self.check(request, reply, call)
        return reply

    # --- the tests ---

    async def test_the_host_takes_the_offer(self, offer: Offer[Any, Any]) -> None:
        host = Host.discover([entry_point("contract_test", **{self.kind: offer})])
        host.offer(self.kind, "contract_test")  # says itself what is wrong
        must(bool(offer.summary.strip()) and "\n" not in offer.summary, "the summary is one line that says what it is")
        must(offer.at_once >= 1, "at_once is at least 1")
        must(offer.interval >= 0, "interval is at least 0 s")
        must(offer.timeout is None or offer.timeout > 0, "timeout is more than 0 s")

    async def test_it_says_whether_it_is_ready(self, offer: Offer[Any, Any], settings: PluginSettings) -> None:
        reason = offer.ready(settings)
        must(reason is None or (isinstance(reason, str) and bool(reason)), f"ready is None or a reason, not {reason!r}")

    async def test_it_answers(
        self, plugin: Any, requests: Sequence[Q], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        for request in requests:
            await self.reply(plugin, request, new_call(), secrets)

    async def test_it_answers_ten_at_once(
        self, plugin: Any, requests: Sequence[Q], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        several = list(islice(cycle(requests), AT_ONCE))
        together = await asyncio.gather(*(self.reply(plugin, one, new_call(), secrets) for one in several))
        if self.steady:
            alone = [await self.reply(plugin, one, new_call(), secrets) for one in several]
            mixed = sum(one != other for one, other in zip(alone, together, strict=True))
            must(not mixed, f"{mixed} of {AT_ONCE} requests got another reply at once than alone: {_MIXED}")

    async def test_it_lets_itself_be_cancelled(
        self, plugin: Any, requests: Sequence[Q], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        for turns in _TURNS:
            task = asyncio.create_task(outcome(self.ask(plugin, requests[0], new_call()), secrets))
            for _ in range(turns):
                await asyncio.sleep(0)
            if not task.done():
                must(await put_down(task), f"does not end within {GRACE:g} s when it is cancelled")
                if not task.cancelled():
                    raise AssertionError(f"is cancelled and {ended(task)} all the same: let CancelledError pass")
        await self.reply(plugin, requests[0], new_call(), secrets)

    async def test_it_leaves_nothing_running(
        self, plugin: Any, requests: Sequence[Q], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        with watching() as begun:
            await self.reply(plugin, requests[0], new_call(), secrets)
        if begun:
            await asyncio.wait(begun, timeout=GRACE / 4)
        left = [task for task in begun if not task.done()]
        for task in left:
            await put_down(task)
        must(not left, f"leaves tasks behind when it has answered: {', '.join(map(str, left))}")

    async def test_it_leaves_the_event_loop_free(
        self, plugin: Any, requests: Sequence[Q], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        await self.reply(plugin, requests[0], new_call(), secrets)  # what it imports once is no matter
        held = await longest_hold(self.reply(plugin, requests[0], new_call(), secrets))
        must(held <= self.longest_hold, f"held the event loop for {held:.1f} s: {_HELD}")

    async def test_its_secrets_stay_inside(
        self,
        plugin: Any,
        requests: Sequence[Q],
        new_call: Callable[[], FakeCall],
        secrets: Secrets,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        if not secrets:
            pytest.skip("its settings hold no secret")
        caplog.set_level(logging.INFO)
        call = new_call()
        reply = await self.reply(plugin, requests[0], call, secrets)
        said = {"its reply": reply.model_dump_json(), "what it streamed": "".join(piece for _, piece in call.emitted)}
        for what, text in (said | {"the log": caplog.text}).items():
            must(secrets.scrub(text) == text, f"a secret stands in {what}")

    async def test_a_refusal_is_raised(
        self, refused: Any, requests: Sequence[Q], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        if refused is None:
            pytest.skip("no fixture `refused`")
        found = await within(self.patience, outcome(self.ask(refused, requests[0], new_call()), secrets))
        must(isinstance(found, Failure), f"returned {type(found).__name__} where its service refused it")
        assert isinstance(found, Exception)
        must(bool(re.search(r"\w", str(found))), "its error says nothing: tell what the service said")
