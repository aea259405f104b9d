"""Contracts of AI providers, task providers, embedders, rerankers and claim judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from leadline._hosting.faults import words
from leadline.errors import Unsupported
from leadline.records import (
    ChatReply,
    ChatRequest,
    Claim,
    Embeddings,
    EmbedRequest,
    Judgements,
    JudgeRequest,
    Message,
    ModelTraits,
    Ranking,
    Record,
    RerankRequest,
    Tool,
    ToolCall,
)
from leadline.tasks import Task, TaskKind
from leadline.testing.context import FakeCall
from leadline.testing.contracts.base import AT_ONCE, PluginContract, Subject
from leadline.testing.contracts.checks import accepted, must
from leadline.testing.contracts.reports import REPORT

Chatting = Subject[ChatRequest, ChatReply]
Embedding = Subject[EmbedRequest, Embeddings]
Judging = Subject[JudgeRequest, Judgements]

_TOOL = Tool(
    name="sound",
    description="Sounds the depth at a place.",
    parameters={"type": "object", "properties": {"place": {"type": "string"}}},
)


class AIProviderContract(PluginContract[ChatRequest, ChatReply]):
    """Contract of AI providers. Set `tested`; fixtures: `requests` if the empty model name is not the default."""

    kind = "ai_providers"
    record = ChatReply
    verb = "chat"

    @pytest.fixture
    def requests(self) -> Sequence[ChatRequest]:
        """Return ten prompts."""
        texts = (f"How deep is harbour {number}?" for number in range(AT_ONCE))
        return [ChatRequest(model="", messages=(Message(role="user", text=text),)) for text in texts]

    def check(self, request: ChatRequest, reply: ChatReply, call: FakeCall) -> None:
        """Check the role, the tool calls, and that the streamed pieces equal the reply."""
        message = reply.message
        must(message.role == "assistant", f"the role of the reply is {message.role!r}; it must be assistant")
        offered = {tool.name for tool in request.tools}
        strange = [wish.name for wish in message.tool_calls if wish.name not in offered]
        must(not strange, f"calls tools that the request does not offer: {strange}")
        ids = [wish.id for wish in message.tool_calls]
        must(all(ids) and len({*ids}) == len(ids), f"each tool call needs a unique id: {ids}")
        for piece in call.emitted:
            must(piece[0] in ("text", "reasoning"), f"emits pieces of an unknown kind: {piece[0]!r}")
            must(isinstance(piece[1], str), f"emits {type(piece[1]).__name__}; pieces must be text")
        for kind, whole in (("text", message.text), ("reasoning", reply.reasoning)):
            pieces = [text for of, text in call.emitted if of == kind]
            must(not pieces or "".join(pieces) == whole, f"the streamed pieces of {kind} differ from the reply")

    @pytest.mark.parametrize("model", ["", "no-such-model"])
    async def test_its_traits_are_known_at_once(self, model: str, plugin: Any) -> None:
        """`traits` is called before each call, for any model name of the settings, and is synchronous."""
        try:
            traits, again = plugin.traits(model), plugin.traits(model)
        except Exception as error:
            raise AssertionError(f"traits({model!r}) raised {words(error)}") from error
        must(isinstance(traits, ModelTraits), f"traits({model!r}) is {type(traits).__name__}, not ModelTraits")
        must(traits == again, f"traits({model!r}) differs between two calls")
        known = traits.context_tokens
        must(
            known is None or known > 0, f"traits({model!r}) has a context of {known} tokens; use None if it is unknown"
        )

    async def test_it_answers_where_nobody_follows(self, subject: Chatting, requests: Sequence[ChatRequest]) -> None:
        call = subject.new_call()
        call.followed = False
        await subject.reply(requests[0], call)

    async def test_it_takes_a_talk_with_tools(self, subject: Chatting, requests: Sequence[ChatRequest]) -> None:
        """A tool call is sent back to the model together with its result."""
        if not subject.plugin.traits(requests[0].model).tools:
            pytest.skip("its traits support no tools")
        wish = ToolCall(id="call_1", name=_TOOL.name, arguments={"place": "the mole"})
        turns = (
            *requests[0].messages,
            Message(role="assistant", tool_calls=(wish,)),
            Message(role="tool", text="nine fathoms", tool_call_id=wish.id),
        )
        await subject.reply(requests[0].model_copy(update={"messages": turns, "tools": (_TOOL,)}))


class _Unheard(Record):
    text: str = ""


class TaskProviderContract(PluginContract[Any, Any]):
    """Contract of task providers, which need no chat. Set `tested`; fixture: `requests`, tasks that it knows."""

    kind = "ai_providers"
    verb = "perform"

    def accept(self, request: Task[Any], returned: object, call: FakeCall) -> Any:
        """Return the reply to a task, an instance of the reply record of the task."""
        return accepted(returned, request.reply)

    async def test_a_task_it_does_not_know_is_unsupported(self, subject: Subject[Any, Any]) -> None:
        task = TaskKind("a_task_nobody_knows", _Unheard, _Unheard).of(_Unheard())
        result = await subject.failure_or_reply(task)
        must(isinstance(result, Unsupported), f"returns {result!r} for an unknown task; raise Unsupported")


_TEXTS = ("How deep is the harbour?", "The harbour is nine fathoms deep.", "海底", "", "Grain was dear in spring.")


class EmbedderContract(PluginContract[EmbedRequest, Embeddings]):
    """Contract of embedders. Set `tested`; fixtures: `requests` if the empty model name is not the default."""

    kind = "embedders"
    record = Embeddings
    verb = "embed"

    @pytest.fixture
    def requests(self) -> Sequence[EmbedRequest]:
        """Return requests for several texts, separately and together."""
        return [EmbedRequest(model="", texts=texts) for texts in (_TEXTS, *((text,) for text in _TEXTS))]

    def check(self, request: EmbedRequest, reply: Embeddings, call: FakeCall) -> None:
        """Check that there is one vector per text, of equal length."""
        wanted, given = len(request.texts), len(reply.vectors)
        must(given == wanted, f"returns {given} vectors for {wanted} texts; return one per text, in order")
        sizes = {len(vector) for vector in reply.vectors}
        must(len(sizes) <= 1 and 0 not in sizes, f"returns vectors of different lengths: {sorted(sizes)}")

    async def test_no_texts_have_no_vectors(self, subject: Embedding, requests: Sequence[EmbedRequest]) -> None:
        await subject.reply(requests[0].model_copy(update={"texts": ()}))

    async def test_vectors_are_as_long_whatever_the_text(
        self, subject: Embedding, requests: Sequence[EmbedRequest]
    ) -> None:
        replies = [await subject.reply(request) for request in requests]
        sizes = sorted({len(vector) for reply in replies for vector in reply.vectors})
        must(len(sizes) == 1, f"returns vectors of different lengths between calls: {sizes}; they must be comparable")


class RerankerContract(PluginContract[RerankRequest, Ranking]):
    """Contract of rerankers."""

    kind = "rerankers"
    record = Ranking
    verb = "rerank"

    @pytest.fixture
    def requests(self) -> Sequence[RerankRequest]:
        """Return requests for several texts, together and separately, and for none."""
        texts = _TEXTS[1:]
        return [RerankRequest(query=_TEXTS[0], texts=some) for some in (texts, *((text,) for text in texts), ())]

    def check(self, request: RerankRequest, reply: Ranking, call: FakeCall) -> None:
        """Check that there is one score per text."""
        wanted, given = len(request.texts), len(reply.scores)
        must(given == wanted, f"returns {given} scores for {wanted} texts; return one per text, in order")


_CLAIMS = (
    ("The harbour of Port Ellery is nine fathoms deep at the mole.", ("e1",)),
    ("A cable further out it is twelve fathoms deep.", ("e2", "e1")),
    ("Ships of nine fathoms were built there from 1771 on.", ("e3",)),
    ("海港很深。", ("e1", "e2", "e3")),
)


def _request(claims: Sequence[tuple[str, Sequence[str]]]) -> JudgeRequest:
    made = (
        Claim(id=f"1.{number}", section_id="1", text=text, span=(0, len(text)), evidence_ids=tuple(cited))
        for number, (text, cited) in enumerate(claims, start=1)
    )
    return JudgeRequest(claims=tuple(made), passages=REPORT.evidence, sources=REPORT.sources, language="en")


class ClaimJudgeContract(PluginContract[JudgeRequest, Judgements]):
    """Contract of claim judges. Set `tested`; fixtures: `new_call` if it uses more of its run than settings."""

    kind = "claim_judges"
    record = Judgements
    verb = "judge"

    @pytest.fixture
    def requests(self) -> Sequence[JudgeRequest]:
        """Return requests for several claims, together and separately, and for none."""
        return [_request(_CLAIMS), *(_request([claim]) for claim in _CLAIMS), _request([])]

    def check(self, request: JudgeRequest, reply: Judgements, call: FakeCall) -> None:
        """Check that each judgement concerns one claim of the request and quotes a passage that the claim cites."""
        cited = {claim.id: claim.evidence_ids for claim in request.claims}
        quotes = {item.id: "\n".join((*item.path, item.lead, item.quote)) for item in request.passages}
        named = [judgement.claim_id for judgement in reply.judgements]
        must({*named} <= {*cited}, f"judges claims that are not in the request: {sorted({*named} - {*cited})}")
        must(len({*named}) == len(named), f"judges a claim twice: {named}")
        for judgement in reply.judgements:
            claim, quote = judgement.claim_id, judgement.quote
            must(0 <= judgement.confidence <= 1, f"has confidence {judgement.confidence}; it must be from 0 to 1")
            must(judgement.verdict != "supported" or bool(quote), f"supports claim {claim} without a quote")
            if quote:
                passage = judgement.evidence_id
                must(passage in cited[claim], f"quotes passage {passage!r}, which claim {claim} does not cite")
                first, *others = quote.split(" […] ")
                known = first in quotes.get(passage, "")
                must(known, f"quotes words that its passage does not contain: {first!r}")
                for words in others:
                    occurs = any(words in quotes.get(name, "") for name in cited[claim])
                    must(occurs, f"quotes words that no cited passage contains: {words!r}")

    async def test_a_claim_without_a_passage_is_not_supported(self, subject: Judging) -> None:
        request = _request([(text, ()) for text, _ in _CLAIMS]).model_copy(update={"passages": (), "sources": ()})
        reply = await subject.reply(request)
        supported = [judgement.claim_id for judgement in reply.judgements if judgement.verdict == "supported"]
        must(not supported, f"supports claims that cite no passage: {supported}")
