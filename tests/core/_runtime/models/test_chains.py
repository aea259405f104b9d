"""Chains of models that fail: reports, fallback, repeated and skipped providers."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline._runtime.calls.retry import RunHealth
from leadline.contracts import Call, Context
from leadline.errors import CallFailed, Denied, RateLimited, Unavailable
from leadline.plugin import PluginSettings, ai_provider
from leadline.records import ChatReply, Failure, Message, ModelTraits
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

QUESTION = "Was the harbour measured at each sounding, in fathoms?"


class Model:
    """A chat that does what it is given, and notes for which tasks it was asked."""

    def __init__(self, does: Callable[[], Any]) -> None:
        self.asked: list[str] = []
        self._does = does

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits()

    async def chat(self, request: Any, call: Call, /) -> ChatReply:
        self.asked.append(call.key)
        done = self._does()
        if asyncio.iscoroutine(done):
            done = await done
        text = done if isinstance(done, str) else "nothing of use"
        return ChatReply(message=Message(role="assistant", text=text))


def raising(error: BaseException) -> Callable[[], Any]:
    def does() -> Any:
        raise error

    return does


def modelled(name: str, made: Any) -> EntryPoint:
    return plugin(name, ai_provider("A model")(lambda: made))


async def ended(folder: Path, *plugins: EntryPoint, **settings: Any) -> leadline.Result:
    """Return how a run ends that must end by itself."""
    values = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "retry.base": 0} | {
        name.replace("__", "."): value for name, value in settings.items()
    }
    made = [fake_web(), *plugins]
    async with leadline.Client(plugins=made, folder=folder / "runs", cache=folder / "cache", set=values) as runs:
        async with asyncio.timeout(20):
            return await runs.research(QUESTION)


# --- what is told --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [Unavailable("no connection"), Denied("no such key")], ids=repr)
@pytest.mark.parametrize("names", [["one"], ["one", "other"]], ids="+".join)
async def test_a_failed_call_is_not_listed_again_for_its_task(
    names: list[str], error: Exception, tmp_path: Path
) -> None:
    models = [modelled(name, Model(raising(error))) for name in names]
    result = await ended(tmp_path, *models, ai__providers=names)
    told = [one.message for one in result.metadata.errors]
    assert len(told) == len(set(told))
    if len(names) == 1:
        assert told[1:] == [f"chat by one: {error}"]
    else:  # what ended the run names each call
        assert all(told[0].count(f"chat by {name}: {error}") == 1 for name in names)


async def test_a_failure_of_the_task_itself_is_listed_for_the_task(tmp_path: Path) -> None:
    result = await ended(tmp_path, modelled("one", Model(lambda: "nothing of use")), ai__providers=["one"])
    said = "the model's reply could not be used: it does not have the requested form"
    assert any(one.message.startswith(f"task by one: {said} [the reply is no ") for one in result.metadata.errors)
    assert any(said in notice for notice in result.metadata.notices)
    assert not any("JSON" in notice for notice in result.metadata.notices)


def unmade(name: str, error: BaseException) -> EntryPoint:
    def make(settings: PluginSettings, context: Context) -> Model:
        raise error

    return plugin(name, ai_provider("A model")(make))


class Untold(Model):
    """Cannot say what it can do."""

    def traits(self, model: str, /) -> ModelTraits:
        raise ValueError("no traits")


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (unmade("undone", SystemExit(3)), "chat by undone: plugin 'undone' could not be created: SystemExit: 3"),
        (
            modelled("untold", Untold(lambda: "nothing")),
            "traits by untold: ValueError: no traits; this is a fault of plugin 'untold' at test_chains.py:"
            f"{Untold.traits.__code__.co_firstlineno + 1}, in traits",
        ),
    ],
    ids=["made", "traits"],
)
async def test_a_failure_outside_of_a_call_is_listed_but_not_counted_as_a_call(
    made: EntryPoint, told: str, tmp_path: Path
) -> None:
    name = made.name
    result = await ended(tmp_path, made, ai__providers=[name, "embedded"])
    assert result.status == "partial"
    assert [(one.message, one.step, one.times) for one in result.metadata.errors if name in one.message] == [
        (told, "plan", 1)
    ]
    assert not [call for call in result.metadata.calls if call.endswith(name) and not call.startswith("task/")]
    alone = await ended(tmp_path / "alone", made, ai__providers=[name])
    assert alone.status == "failed"


# --- what is asked again -------------------------------------------------------------------------------------------


def attempts(model: Model) -> list[int]:
    """Return how often it was asked in each of its calls."""
    return list(Counter(model.asked).values())


PLAN = json.dumps({"title": "Depth", "sections": [{"id": "1", "title": "How deep it is", "questions": [QUESTION]}]})


def answering_once(error: Exception) -> Callable[[], Any]:
    """Return what a model does that makes the plan and then fails."""
    replies = [PLAN]

    def does() -> Any:
        if not replies:
            raise error
        return replies.pop()

    return does


async def test_a_single_unreachable_provider_has_one_attempt_from_the_third_task_on(tmp_path: Path) -> None:
    model = Model(answering_once(Unavailable("no connection")))
    result = await ended(tmp_path, modelled("dead", model), ai__providers=["dead"])
    assert result.status == "partial"
    assert attempts(model)[:3] == [1, 3, 3]
    assert set(attempts(model)[3:]) == {1}


async def test_unreachable_providers_have_one_attempt(tmp_path: Path) -> None:
    one, other = (Model(answering_once(Unavailable("no connection"))) for _ in range(2))
    models = [modelled("silent1", one), modelled("silent2", other)]
    settings: dict[str, Any] = {"ai__providers": ["silent1", "silent2"], "ai__tasks": {"query": "silent2"}}
    result = await ended(tmp_path, *models, **settings)
    assert result.status == "partial"
    for model in (one, other):
        assert attempts(model)[:3] == [1, 3, 3]
        assert set(attempts(model)[3:]) <= {1}


async def test_a_provider_with_a_long_retry_after_is_skipped(tmp_path: Path) -> None:
    busy = Model(raising(RateLimited("HTTP 429", retry_after=3_600)))
    free = Model(lambda: '{"queries": [{"text": "harbour soundings"}], "is_sufficient": true}')
    models = [modelled("busy", busy), modelled("free", free)]
    began = asyncio.get_running_loop().time()
    result = await ended(tmp_path, *models, ai__providers=["busy", "free", "embedded"])
    assert asyncio.get_running_loop().time() - began < 15, "nobody waits for it"
    assert len(free.asked) > len(busy.asked)
    reason = "chat by busy: it asks for a longer pause than calls wait"
    assert any(reason in notice for notice in result.metadata.notices)


async def test_a_provider_that_answers_again_has_all_its_attempts() -> None:
    async def notice(message: str) -> None:
        raise AssertionError(message)

    failure = Failure(kind="chat", provider="one", category="NETWORK", type="Unavailable", message="no connection")
    health = RunHealth(notice, lambda: frozenset({"one"}))
    for silent in (False, False, True, True):
        assert health.is_unreachable("one") is silent
        await health.record_failure("one", CallFailed(failure), ["one"])
    health.record_success("one")
    assert not health.is_unreachable("one")


# --- what nobody wrote ---------------------------------------------------------------------------------------------


class Writer(Model):
    """A chat that writes so many sections, or all, and then has no connection; it notes the tasks that it did."""

    def __init__(self, sections: int | None = None) -> None:
        super().__init__(lambda: None)
        self.sections = sections
        self.did: list[str] = []

    async def chat(self, request: Any, call: Call, /) -> ChatReply:
        if self.sections is not None and self.did.count("synthesize") >= self.sections:
            raise Unavailable("no connection")
        self.did.append(call.task)
        said = json.dumps(self.said(call.task, request.messages[1].text))
        return ChatReply(message=Message(role="assistant", text=said), model="acme-1")

    def said(self, task: str, asked: str) -> dict[str, Any]:
        if task == "plan":
            titles = ("Harbour depth at each sounding", "Fathoms measured on the page")
            return {"title": "Depth", "sections": [{"id": f"{i}", "title": title} for i, title in enumerate(titles, 1)]}
        numbers = dict.fromkeys(re.findall(r"\[(\d+)\]", asked))
        text = " ".join(f"Its harbour was measured in fathoms, as page {n} tells [{n}]." for n in numbers)
        wanted = json.loads(asked.rpartition("Write now:\n")[2].partition("\n")[0])["sections"]
        return {"sections": [{"id": part["id"], "text": text} for part in wanted]}


WRITES: dict[str, Any] = {
    "ai__providers": ["embedded"],
    "ai__tasks": {"plan": "writer", "synthesize": "writer"},
    "report__length": 4_000,
}


async def test_a_section_without_its_model_is_left_out_and_written_by_the_next_session(
    tmp_path: Path,
) -> None:
    whole = await ended(tmp_path / "whole", modelled("writer", writer := Writer()), **WRITES)
    assert (whole.status, sorted(set(writer.did))) == ("complete", ["plan", "synthesize"])
    sections = writer.did.count("synthesize") - 1
    assert sections > 1
    dying = Writer(sections=1)
    result = await ended(tmp_path, modelled("writer", dying), **WRITES)
    assert (result.status, result.exit_code) == ("partial", 4)
    assert result.reason == "no model did synthesize: see the notices"
    assert result.metadata.models == ("writer:acme-1",)
    assert any(text.startswith("a summary, analysis or conclusion is missing (") for text in result.metadata.notices)
    told = [text for text in result.metadata.notices if "' was not written: " in text]
    assert len(told) == sections - 1
    assert all(text.endswith("chat by writer: no connection (after 3 attempts)") for text in told)
    again = Writer()
    values = {"retry.base": 0}
    made = [fake_web(), modelled("writer", again)]
    async with leadline.Client(plugins=made, folder=tmp_path / "runs", cache=tmp_path / "cache", set=values) as runs:
        resumed = await (await runs.resume(result.folder)).result()
    assert resumed.status == "complete"
    assert again.did.count("synthesize") == sections, "all but one section, and the summary"
    assert resumed.text == whole.text


async def test_only_models_whose_replies_were_used_are_named(tmp_path: Path) -> None:
    class Named(Writer):
        async def chat(self, request: Any, call: Call, /) -> ChatReply:
            said = Message(role="assistant", text="I cannot.")
            return ChatReply(message=said, model="acme-0")

    settings = {**WRITES, "ai__providers": ["writer", "embedded"], "ai__tasks": {}}
    result = await ended(tmp_path, modelled("writer", Named()), **settings)
    assert (result.status, result.reason) == ("partial", "writer did none of its tasks: see the notices")
    assert result.metadata.models == ()
    assert "acme-0" not in result.text
    settings |= {"ai__providers": ["writer", "second", "embedded"]}
    models = [modelled("writer", Named()), modelled("second", Writer())]
    both = await ended(tmp_path / "both", *models, **{**settings, "ai__tasks": {"synthesize": "writer"}})
    assert both.metadata.models == ("second:acme-1",)


# --- who ends what is not its own ----------------------------------------------------------------------------------


async def cancels_its_task() -> str:
    task = asyncio.current_task()
    assert task
    task.cancel()
    await asyncio.sleep(0)
    return "never"


async def test_a_model_that_cancels_its_own_task_fails_and_the_next_is_used(tmp_path: Path) -> None:
    model = Model(cancels_its_task)
    result = await ended(tmp_path, modelled("acts", model), ai__providers=["acts", "embedded"])
    assert result.metadata.calls["perform/embedded"] > 0
    assert model.asked
    told = "chat by acts: CancelledError: cancelled from within; this is a fault of plugin 'acts'"
    assert {one.message for one in result.metadata.errors if "acts" in one.message} == {told}
