"""The bridges fulfil the contracts of their kinds; errors of bridged objects are read as those of a service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, ClassVar

import httpx
import pytest
from leadline_bridges import BridgeSettings, faults, haystack, langchain, llama_index, ready
from tests.contrib.house import Index, RefusedError

from leadline.errors import Denied, ProviderError, RateLimited, TooLong, Unavailable, Unsupported
from leadline.plugin import ChatRequest, SearchRequest, Usage
from leadline.testing.context import FakeCall
from leadline.testing.contracts import AIProviderContract, SearchProviderContract


class Bridged:
    tested: ClassVar[Any]

    @pytest.fixture
    def settings(self, offer: Any) -> Any:
        return offer.settings(make="tests.contrib.house:index")

    @pytest.fixture
    async def refused(self, offer: Any, context: Any) -> AsyncIterator[Any]:
        closed = offer.settings(make="tests.contrib.house:Index", arguments={"closed": True})
        async with self.tested(closed, context) as bridge:
            yield bridge


class TestLangchainRetriever(Bridged, SearchProviderContract):
    tested = langchain.Retriever


class TestLangchainChatModel(Bridged, AIProviderContract):
    tested = langchain.ChatModel


class TestLlamaIndexRetriever(Bridged, SearchProviderContract):
    tested = llama_index.Retriever


class TestHaystackComponent(Bridged, SearchProviderContract):
    tested = haystack.Component


async def test_texts_of_a_web_page_are_one_hit_and_those_of_a_file_have_addresses_of_their_own() -> None:
    hits = await langchain.Retriever.of(Index()).search(SearchRequest(query="lengths"), FakeCall())
    assert [hit.url.partition("#")[0] for hit in hits] == ["lengths.md", "lengths.md", "https://a.example/"]
    assert len({hit.url for hit in hits}) == 3
    assert hits[2].text == "A league is three miles.\n\nA knot is a speed."
    assert langchain.Retriever.of(Index()).hits([("A knot \ud800", {})], 1)  # as parsers of PDF write


async def test_an_object_of_a_program_is_used_as_it_is_with_names_of_its_own() -> None:
    async with langchain.Retriever.of(Index(), fields={"url": "source"}) as bridge:
        hits = await bridge.search(SearchRequest(query="lengths"), FakeCall())
    assert [hit.url.partition("#")[0] for hit in hits] == ["lengths.md", "lengths.md", "Index", "Index"]
    with pytest.raises(ValueError, match="fields.link"):
        langchain.Retriever.of(Index(), fields={"link": "source"})


async def test_a_reply_has_its_end_and_its_usage_and_another_model_is_refused() -> None:
    model, call = langchain.ChatModel.of(Index()), FakeCall()
    reply = await model.chat(ChatRequest(model="house-1", messages=()), call)
    assert (reply.message.text, reply.finish_reason, reply.model) == ("Nine fathoms.", "length", "house-1")
    assert call.spent == [Usage(input_tokens=7, cached_tokens=5, output_tokens=3)]
    with pytest.raises(Unsupported, match="'house-1', not 'gpt-5'"):
        await model.chat(ChatRequest(model="gpt-5", messages=()), call)


async def test_a_pipeline_gets_its_inputs_and_one_without_documents_is_refused() -> None:
    class Pipeline:
        def add_component(self) -> None: ...

        def run(self, data: dict[str, Any]) -> dict[str, Any]:
            return data

    with pytest.raises(Unsupported, match="Pipeline returns text, and no documents"):
        await haystack.Component.of(Pipeline(), inputs=["text"]).search(SearchRequest(query="a"), FakeCall())


class ServiceError(Exception):
    """An error as SDKs raise it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"Error code: {status} - {message}")
        self.status_code, self.response = status, httpx.Response(status, headers={"Retry-After": "7"})


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (RefusedError(), Denied, "house does not accept the key (HTTP 401): no such key; check the key that it uses"),
        (ServiceError(429, "slow down"), RateLimited, "house: rate limit reached (HTTP 429)"),
        (ServiceError(400, "maximum context length is 8192 tokens"), TooLong, "house: the request is too long"),
        (httpx.ConnectError("no route"), Unavailable, "house: ConnectError: no route"),
        (KeyError("dept"), ProviderError, "house: ValueError: of the framework (test_bridges.py:"),
    ],
)
def test_a_fault_names_its_object_and_what_to_do(error: Exception, kind: type[ProviderError], words: str) -> None:
    with pytest.raises(ProviderError) as raised, faults("house"):
        raise ValueError("of the framework") from error
    assert type(raised.value) is kind
    assert words in str(raised.value)
    assert raised.value.retry_after == (7 if kind is RateLimited else None)


@pytest.mark.parametrize(("make", "words"), [("house", "package.module:name"), ("hous:index", "no module 'hous'")])
def test_what_cannot_be_made_is_told_before_the_run(make: str, words: str) -> None:
    assert words in str(ready(BridgeSettings(make=make)))
