"""A real peer: a small language model behind llama.cpp's own server, which counts tokens, holds to schemas, refuses."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from leadline._hosting.catalog import PluginCatalog
from leadline._hosting.context import PluginContext
from leadline._runtime.replies.parsing import parse
from leadline._settings.task_settings import declared
from leadline.errors import TooLong, Unsupported
from leadline.records import ChatRequest, EmbedRequest, Message, Record
from leadline.schemas import schema_of
from leadline.tasks import reply_schema
from leadline.testing.context import FakeCall, fake_context
from leadline_plugins.ai.openai.provider import OpenAI, OpenAIEmbedder
from leadline_plugins.ai.openai.settings import OpenAISettings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def server(small: Any) -> Iterator[str]:
    with small.small_model() as url:
        yield url


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[PluginContext]:
    context = fake_context(tmp_path, name="openai")
    yield context
    await context.close()


def settings(server: str, **more: Any) -> OpenAISettings:
    return OpenAISettings(base_url=server, extra_body={"temperature": 0, "seed": 1}, **more)


def asking(text: str, **more: Any) -> ChatRequest:
    return ChatRequest(**({"model": "", "messages": (Message(role="user", text=text),), "max_tokens": 40} | more))


async def test_a_reply_is_streamed_and_its_tokens_are_counted(server: str, context: PluginContext, small: Any) -> None:
    call = FakeCall()
    reply = await OpenAI(settings(server), context).chat(asking("Name three colours."), call)
    assert len(call.emitted) > 2
    assert "".join(piece for _, piece in call.emitted) == reply.message.text
    assert reply.model == small.NAME  # the server's only one: nobody named it
    (usage,) = call.spent
    assert usage.input_tokens > 5
    assert 2 < usage.output_tokens <= 40


async def test_a_reply_comes_whole_where_nobody_follows(server: str, context: PluginContext) -> None:
    call = FakeCall()
    call.followed = False
    reply = await OpenAI(settings(server), context).chat(asking("Count to a hundred.", max_tokens=5), call)
    assert reply.message.text
    assert reply.finish_reason == "length"
    assert call.spent[0].output_tokens == 5


class Depth(Record):
    """A reply whose every field the server has to hold to."""

    metres: int
    certain: Literal["yes", "no"]
    bays: Annotated[tuple[Literal["north", "south"], ...], Field(max_length=2)] = ()


async def test_replies_are_held_to_a_schema(server: str, context: PluginContext) -> None:
    provider = OpenAI(settings(server), context)
    for question in ("How deep is the bay?", "Sing!", "Reply with the word 'shoal' and nothing else."):
        reply = await provider.chat(asking(question, json_schema=schema_of(Depth), max_tokens=100), FakeCall())
        said = json.loads(reply.message.text)
        assert set(said) == {"metres", "certain", "bays"}
        assert isinstance(parse(reply.message.text, Depth).metres, int)


async def test_the_schema_of_every_task_is_taken_in_its_strict_form(server: str, context: PluginContext) -> None:
    tasks = {one.task.name: one.task for one in declared(PluginCatalog.discover().loadable())}
    assert {"plan", "query", "digest", "synthesize", "verify_claim"} <= tasks.keys()
    provider = OpenAI(settings(server), context)
    for name, task in tasks.items():
        reply = await provider.chat(asking("Go on.", json_schema=reply_schema(task), max_tokens=3), FakeCall())
        assert reply.message.text.lstrip().startswith("{"), name
    assert not provider._forms._known  # nothing was refused


async def test_a_prompt_over_the_context_is_recognized_and_not_retried(server: str, context: PluginContext) -> None:
    with pytest.raises(TooLong, match=r"too long for 'smollm2-135m' \(HTTP 400\).*8192"):
        await OpenAI(settings(server), context).chat(asking("word " * 9000), FakeCall())
    assert not TooLong.retry


async def test_the_only_model_answers_to_any_name_but_an_api_it_lacks_is_told(
    server: str, context: PluginContext
) -> None:
    elsewhere = settings(server.removesuffix("/v1") + "/nowhere")
    with pytest.raises(Unsupported, match="check base_url"):
        await OpenAI(elsewhere.model_copy(update={"model": "m"}), context).chat(asking("Hello?"), FakeCall())


async def test_texts_are_turned_to_vectors(server: str, context: PluginContext) -> None:
    call = FakeCall()
    embedder = OpenAIEmbedder(settings(server, embedding_model="smollm2-135m"), context)
    found = await embedder.embed(EmbedRequest(model="", texts=("A bay.", "A harbour.", "A bay.")), call)
    assert [len(vector) for vector in found.vectors] == [576] * 3
    assert found.vectors[0] == pytest.approx(found.vectors[2], abs=0.01)
    assert found.vectors[0] != pytest.approx(found.vectors[1], abs=0.01)
    assert call.spent[0].input_tokens > 5


@pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed (make test-all)")
@pytest.mark.filterwarnings("ignore")  # litellm's own, at its import
async def test_the_same_chat_goes_by_litellm(server: str, context: PluginContext, small: Any) -> None:
    from leadline_plugins.ai.litellm.provider import Litellm
    from leadline_plugins.ai.litellm.settings import LitellmSettings

    call = FakeCall()
    account = LitellmSettings(model=f"openai/{small.NAME}", api_base=server, api_key="none")
    reply = await Litellm(account, context).chat(asking("Name three colours."), call)
    assert "".join(piece for _, piece in call.emitted) == reply.message.text != ""
    assert call.spent[0].output_tokens > 2
