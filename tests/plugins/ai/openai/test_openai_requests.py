"""What is sent, and how the first refusal of a part of it teaches the plugin to say it otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from leadline._hosting.context import PluginContext
from leadline.errors import BadReply, Unavailable, Unsupported
from leadline.records import ChatRequest, EmbedRequest, Message, Record, Tool, ToolCall
from leadline.testing.context import FakeCall
from leadline.testing.servers import ScriptedAnswer, ScriptedServer, json_answer
from leadline_plugins.ai.openai import chat_completions, responses
from leadline_plugins.ai.openai.chat_completions import strict_schema
from leadline_plugins.ai.openai.endpoint import Endpoint
from leadline_plugins.ai.openai.endpoint_quirks import Quirks, learn
from leadline_plugins.ai.openai.provider import OpenAI, OpenAIEmbedder
from leadline_plugins.ai.openai.replies import parse_usage
from leadline_plugins.ai.openai.settings import OpenAISettings, ready
from leadline_plugins.service_errors import Refusal

Make = Callable[..., Any]
Ask = Callable[..., ChatRequest]
SCHEMA = {"title": "Plan 1", "type": "object", "properties": {"title": {"type": "string", "default": ""}}}
FULL: dict[str, Any] = {"json_schema": SCHEMA, "max_tokens": 9, "temperature": 0.5, "effort": "low"}


def spoken(text: str = '{"title": "x"}', **message: Any) -> ScriptedAnswer:
    choice = {"index": 0, "message": {"content": text, **message}, "finish_reason": "stop"}
    return json_answer({"id": "1", "model": "m-1", "choices": [choice]})


def refused(message: str, status: int = 400, **parts: Any) -> ScriptedAnswer:
    return json_answer({"error": {"message": message, **parts}}, status)


async def test_a_full_request(server: ScriptedServer, provider: Make) -> None:
    server.answers = [spoken()]
    find = Tool(name="find", description="finds", parameters={"type": "object"})
    messages = (
        Message(role="system", text="Be brief."),
        Message(role="user", text="海?"),
        Message(role="assistant", tool_calls=(ToolCall(id="a", name="find", arguments={"q": "海"}),)),
        Message(role="tool", text="found", tool_call_id="a"),
    )
    model = provider(extra_body={"top_k": 40}, organization="o", project="p")
    await model.ask(messages=messages, tools=(find,), **FULL)
    asked = server.asked[0]
    assert asked.path == "/v1/chat/completions"
    assert (asked.headers["openai-organization"], asked.headers["openai-project"]) == ("o", "p")
    assert "authorization" not in asked.headers
    assert asked.body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "海?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "find", "arguments": '{"q": "海"}'}}
                ],
            },
            {"role": "tool", "content": "found", "tool_call_id": "a"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {"type": "function", "function": {"name": "find", "description": "finds", "parameters": {"type": "object"}}}
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "Plan_1",
                "strict": True,
                "schema": {
                    "title": "Plan 1",
                    "type": "object",
                    "properties": {"title": {"type": "string"}},
                    "required": ["title"],
                    "additionalProperties": False,
                },
            },
        },
        "max_tokens": 9,
        "temperature": 0.5,
        "reasoning_effort": "low",
        "top_k": 40,
    }


@pytest.mark.parametrize(
    ("refusal", "differs"),
    [
        (
            "Unsupported parameter: 'max_tokens' is not supported here. Use 'max_completion_tokens' instead.",
            {"max_tokens": None, "max_completion_tokens": 9},
        ),
        ("Unsupported value: 'temperature' does not support 0.5 with this model.", {"temperature": None}),
        ("Unrecognized request argument supplied: reasoning_effort", {"reasoning_effort": None}),
        ("Unrecognized request argument supplied: stream_options", {"stream_options": None}),
        (
            "Your organization must be verified to stream this model.",
            {"stream": None, "stream_options": None},
        ),
        ("Parameter: temperature", {"temperature": None}),
        ("This response_format type is unavailable now", {"response_format": {"type": "json_object"}}),
        ("This model does not support response format `json_schema`.", {"response_format": {"type": "json_object"}}),
    ],
)
async def test_a_refused_part_is_replaced_and_remembered(
    server: ScriptedServer, provider: Make, refusal: str, differs: dict[str, Any]
) -> None:
    server.answers = [refused(refusal, type="unknown_parameter"), spoken()]
    model = provider()
    await model.ask(**FULL)
    await model.ask(**FULL)
    first, second, third = (asked.body for asked in server.asked)
    if "response_format" in differs:
        assert "schema" in second["messages"][0]["content"]
        second["messages"], third["messages"] = first["messages"], first["messages"]
    changed = {name: value for name, value in (first | differs).items() if value is not None}
    assert second == third == changed


async def test_json_mode_may_be_refused_too(server: ScriptedServer, provider: Make) -> None:
    no = refused("response_format is not supported")
    server.answers = [no, no, spoken()]
    reply = await provider().ask(**FULL)
    assert reply.message.text == '{"title": "x"}'
    assert [asked.body.get("response_format", {}).get("type") for asked in server.asked] == [
        "json_schema",
        "json_object",
        None,
    ]


async def test_a_refusal_without_a_lesson_is_not_retried(server: ScriptedServer, provider: Make) -> None:
    server.answers = [refused("Invalid 'temperature': above maximum value")]
    with pytest.raises(Unsupported, match="refuses the request"):
        await provider().ask(**FULL)
    server.answers = [refused("temperature is not supported")]
    with pytest.raises(Unsupported, match="temperature is not supported"):
        await provider().ask(**FULL)
    assert len(server.asked) == 1 + 2


async def test_a_refused_schema_is_relaxed_for_one_request(server: ScriptedServer, provider: Make) -> None:
    model = provider()
    server.answers = [refused("Invalid schema for response_format 'Plan'", code="invalid_json_schema"), spoken()]
    await model.ask(**FULL)
    await model.ask(**FULL)
    stricts = [asked.body["response_format"]["json_schema"]["strict"] for asked in server.asked]
    assert stricts == [True, False, True]


@pytest.mark.parametrize(
    "refusal",
    [
        refused("This schema produces a constraint that has too many states for serving."),
        refused("A schema in GenerationConfig in the request exceeds the maximum allowed nesting depth."),
        refused("Request contains an invalid argument."),
    ],
)
async def test_a_schema_too_complex_for_a_vendor_leaves_other_schemas_strict(
    server: ScriptedServer, provider: Make, refusal: ScriptedAnswer
) -> None:
    server.answers = [refusal, refusal, spoken()]
    model = provider()
    await model.ask(**FULL)
    await model.ask(**FULL)
    forms = [asked.body["response_format"]["type"] for asked in server.asked]
    assert forms == ["json_schema", "json_schema", "json_object", "json_schema"]


@pytest.mark.parametrize(
    "refusal",
    [
        refused("[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type')}]", 500),
        refused("body.response_format.type: Input should be 'text' or 'json_object'", 422),
        refused("response_format: missing field `value`", 422),
    ],
)
async def test_an_unknown_form_is_learned(server: ScriptedServer, provider: Make, refusal: ScriptedAnswer) -> None:
    server.answers = [refusal, spoken()]
    model = provider()
    await model.ask(**FULL)
    await model.ask(**FULL)
    forms = [asked.body["response_format"]["type"] for asked in server.asked]
    assert forms == ["json_schema", "json_object", "json_object"]


@pytest.mark.parametrize(
    "refusal",
    [
        # One reply that did not fit: Groq's schemas are a promise of its best effort.
        refused("Generated JSON does not match: jsonschema: '/choice' is invalid", code="json_validate_failed"),
        # Every refusal is an invalid_request_error, whatever it speaks of.
        refused("the message at position 2 with role 'assistant' is empty", type="invalid_request_error"),
        refused("your prompt was flagged: see docs/guides/reasoning", type="invalid_request_error"),
    ],
)
async def test_other_refusals_teach_nothing(server: ScriptedServer, provider: Make, refusal: ScriptedAnswer) -> None:
    server.answers = [refusal, spoken()]
    messages = (Message(role="system", text="Be brief."), Message(role="user", text="Hello?"))
    model = provider()
    with pytest.raises((BadReply, Unsupported)):
        await model.ask(messages=messages, **FULL)
    await model.ask(messages=messages, **FULL)
    first, second = (asked.body for asked in server.asked)
    assert first == second


async def test_instructions_move_to_the_user_without_a_system_role(server: ScriptedServer, provider: Make) -> None:
    server.answers = [refused("System role not supported", 500), spoken("Hi")]
    messages = (Message(role="system", text="Be brief."), Message(role="user", text="Hello?"))
    await provider().ask(messages=messages)
    assert server.asked[1].body["messages"] == [{"role": "user", "content": "Be brief.\n\nHello?"}]


async def test_a_model_of_the_responses_api_is_served(
    server: ScriptedServer, provider: Make, request_of: Ask, call: FakeCall
) -> None:
    said = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": "zzz"}
    wish = {"type": "function_call", "call_id": "a", "name": "find", "arguments": '{"q": 1}'}
    whole = {"object": "response", "model": "m", "status": "completed", "output": [sealed, said, wish]}
    server.answers = [
        refused("This model is only supported in v1/responses and not in v1/chat/completions.", 404),
        json_answer(whole),
    ]
    find = Tool(name="find", description="finds", parameters={"type": "object"})
    model = provider()
    reply = await model.ask(tools=(find,), **FULL)
    assert reply.finish_reason == "tool_calls"
    again = request_of(messages=(reply.message, Message(role="tool", text="ok", tool_call_id="a")))
    await model.chat(again, call)
    first, second = server.asked[1].body, server.asked[2].body
    assert server.asked[2].path == "/v1/responses"
    assert (first["max_output_tokens"], first["reasoning"]) == (9, {"effort": "low"})
    assert first["include"] == ["reasoning.encrypted_content"]
    assert first["text"]["format"]["strict"] is True
    assert second["input"] == [
        sealed,
        {"role": "assistant", "content": "Hi"},
        {"type": "function_call", "call_id": "a", "name": "find", "arguments": '{"q": 1}'},
        {"type": "function_call_output", "call_id": "a", "output": "ok"},
    ]


async def test_opaque_data_returns_to_the_vendor(server: ScriptedServer, provider: Make) -> None:
    wish = {"index": 0, "id": "a", "function": {"name": "find", "arguments": {"q": 1}}, "extra_content": {"sig": "s"}}
    server.answers = [spoken("", reasoning_content="Hm", tool_calls=[wish])]
    model = provider()
    reply = await model.ask()
    await model.ask(messages=(reply.message,))
    turn = server.asked[1].body["messages"][0]
    assert turn["reasoning_content"] == "Hm"
    assert turn["tool_calls"][0]["extra_content"] == {"sig": "s"}


async def test_a_refusal_by_the_model_is_filtered_content(server: ScriptedServer, provider: Make) -> None:
    server.answers = [spoken("", refusal="I cannot help with that.")]
    reply = await provider().ask()
    assert (reply.message.text, reply.finish_reason) == ("I cannot help with that.", "content_filter")


async def test_the_only_model_of_a_server_needs_no_name(server: ScriptedServer, provider: Make) -> None:
    server.answers = [json_answer({"data": [{"id": "gemma"}]}), spoken("Hi")]
    await provider(model="").ask()
    assert server.asked[1].body["model"] == "gemma"
    server.answers = [json_answer({"data": [{"id": "a"}, {"id": "b"}]})]
    with pytest.raises(Unsupported, match="choose from: a, b"):
        await provider(model="").ask()


@pytest.mark.parametrize(
    ("settings", "what", "url"),
    [
        ({}, "chat/completions", "https://api.openai.com/v1/chat/completions"),
        (
            {"base_url": "http://127.0.0.1:11434/v1/chat/completions/"},
            "models",
            "http://127.0.0.1:11434/v1/models",
        ),
        ({"base_url": "http://h/v1?tenant=a"}, "models", "http://h/v1/models?tenant=a"),
        (
            {"base_url": "https://x.openai.azure.com/", "api_version": "2024-10-21"},
            "chat/completions",
            "https://x.openai.azure.com/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21",
        ),
        (
            {"base_url": "https://x.openai.azure.com/openai/v1/"},
            "responses",
            "https://x.openai.azure.com/openai/v1/responses",
        ),
    ],
)
def test_addresses(settings: dict[str, Any], what: str, url: str, context: PluginContext) -> None:
    assert Endpoint(OpenAISettings(**settings), context).url(what, "my gpt") == url


async def test_azure_takes_its_key_in_a_header_of_its_own(server: ScriptedServer, provider: Make) -> None:
    server.answers = [spoken("Hi")]
    await provider(base_url=server.url, api_version="2024-10-21", api_key="k" * 20).ask()
    assert server.asked[0].path == "/openai/deployments/m/chat/completions?api-version=2024-10-21"
    assert server.asked[0].headers["api-key"] == "k" * 20
    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize("path", ["/gate", "/gate/openai", "/gate/openai/v1", "/gate/openai/deployments/m"])
def test_azure_behind_a_gateway_keeps_its_path(path: str, context: PluginContext) -> None:
    settings = OpenAISettings(base_url=f"https://apim.example.org{path}", api_version="1")
    url = "https://apim.example.org/gate/openai/deployments/m/chat/completions?api-version=1"
    assert Endpoint(settings, context).url("chat/completions", "m") == url


def test_a_missing_key_is_reported() -> None:
    assert "set OPENAI_API_KEY" in str(ready(OpenAISettings()))
    assert ready(OpenAISettings(api_key="sk-x")) is None
    for local in ("http://127.0.0.1:1/v1", "http://[::1]/v1", "http://localhost/v1", "http://192.168.1.5/v1"):
        assert ready(OpenAISettings(base_url=local)) is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"api_key": "sk-…"}, "api_key contains a character that HTTP headers do not allow"),
        ({"api_key": "sk-a\nb"}, "api_key contains a character"),
        ({"api_key": "k", "headers": {"X-Gate": "a\n"}}, "headers.X-Gate contains a character"),
        ({"api_key": "k", "proxy": "127.0.0.1:3128"}, "proxy is not an address"),
        ({"api_key": "k", "proxy": "ftp://x"}, "proxy is not an address"),
        ({"api_key": "k", "proxy": "http://[::1"}, "proxy is not an address"),
        ({"api_key": "k", "proxy": "socks5://127.0.0.1:1080"}, "leadline plugins install 'leadline[socks]'"),
    ],
)
def test_unusable_settings_are_reported_before_a_request(
    settings: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leadline_plugins.ai.openai.settings.find_spec", lambda name: None)
    assert words in str(ready(OpenAISettings(**settings)))


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_address_can_be_checked(address: str, proxy: str) -> None:
    settings = OpenAISettings(base_url=address, proxy=proxy, api_key=SecretStr("k"))
    assert ready(settings) is None or isinstance(ready(settings), str)
    assert isinstance(settings.version + settings.deployment + settings.host, str)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"ALL_PROXY": "socks5://127.0.0.1:1080"}, "ALL_PROXY is a SOCKS proxy: leadline plugins install 'leadline"),
        ({"HTTP_PROXY": "ftp://127.0.0.1:9"}, "check the setting proxy, or HTTP_PROXY"),
    ],
)
async def test_a_proxy_that_cannot_be_used_is_named(
    server: ScriptedServer, provider: Make, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], words: str
) -> None:
    monkeypatch.setattr("leadline_plugins.ai.openai.settings.find_spec", lambda name: None)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    if "ALL_PROXY" in environment and find_spec("socksio"):
        pytest.skip("SOCKS proxies can be used here")
    with pytest.raises(Unsupported, match=words):
        await provider().ask()


PASTED = "https://x.openai.azure.com/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("base_url", "asked"),
    [
        ("https://h/v1?tenant=1", "https://h/v1/chat/completions?tenant=1"),
        ("https://h/v1/?tenant=1", "https://h/v1/chat/completions?tenant=1"),
        ("https://h/v1/chat/completions?api-version=1", "https://h/v1/chat/completions?api-version=1"),
        ("https://h/v1/embeddings", "https://h/v1/chat/completions"),
        (" https://h/v1/responses/ ", "https://h/v1/chat/completions"),
        (PASTED, PASTED),
        ("https://x.openai.azure.com/openai/v1/responses?api-version=preview", "/openai/v1/chat/completions"),
    ],
)
def test_a_pasted_path_is_not_doubled(base_url: str, asked: str, context: PluginContext) -> None:
    settings = OpenAISettings(base_url=base_url)
    assert Endpoint(settings, context).url("chat/completions", settings.deployment).endswith(asked)


async def test_own_authorities_apply_to_an_https_proxy(
    context: PluginContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    made: dict[str, Any] = {}
    monkeypatch.setattr(context, "http", lambda **options: made.update(options))
    settings = OpenAISettings(base_url="https://h/v1", proxy="https://p:3128", ca_file=tmp_path / "ca.pem")
    Endpoint(settings, context)._client()
    assert made["proxy"].ssl_context is made["verify"]
    assert len(made["verify"].get_ca_certs()) == 1


async def test_the_deployment_of_a_pasted_address_is_the_model(context: PluginContext) -> None:
    model = OpenAI(OpenAISettings(base_url=PASTED), context)
    assert model.traits("").model == "my gpt"
    assert OpenAIEmbedder(OpenAISettings(base_url=PASTED), context).model("") == "my gpt"


def test_traits_are_corrected_by_the_settings(provider: Make) -> None:
    model = provider(models={"small": {"json_schema": False, "context_tokens": 4096}})
    assert model.traits("other").json_schema
    assert not model.traits("small").json_schema
    assert (model.traits("").model, model.traits("small").model) == ("m", "small")
    assert model.traits("small").context_tokens == 4096


class Inner(Record):
    """A record within another."""

    name: str = ""


class Outer(Record):
    """A record with all that strict decoding asks about."""

    inner: Inner = Inner()
    others: tuple[Inner, ...] = ()
    number: int | None = None


class Free(Record):
    """A record with free keys."""

    data: dict[str, str] = {}


class Pair(Record):
    """A record with a tuple of fixed length."""

    span: tuple[int, int] = (0, 0)


def test_schemas_are_closed_if_possible() -> None:
    closed = strict_schema(Outer.model_json_schema())
    assert closed is not None
    assert closed["required"] == ["inner", "others", "number"]
    assert closed["$defs"]["Inner"]["additionalProperties"] is False
    assert "default" not in json.dumps(closed)
    assert strict_schema(Free.model_json_schema()) is None
    assert strict_schema(Pair.model_json_schema()) is None


def test_usage_of_every_vendor_is_read() -> None:
    deepseek = parse_usage({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 5})
    assert (deepseek.input_tokens, deepseek.cached_tokens, deepseek.cost) == (9, 5, None)
    xai = {"prompt_tokens": 291, "completion_tokens": 26, "total_tokens": 513, "cost_in_usd_ticks": 1330500}
    usage = parse_usage(xai | {"completion_tokens_details": {"reasoning_tokens": 196}})
    assert (usage.output_tokens, usage.reasoning_tokens, usage.cost) == (222, 196, Decimal("0.00013305"))
    assert parse_usage({"prompt_tokens": 1, "cost": {"total_cost": 0.006}}).cost == Decimal("0.006")
    assert parse_usage({"prompt_tokens": None, "completion_tokens": "x"}).input_tokens == 0


async def test_embeddings(server: ScriptedServer, context: PluginContext, call: FakeCall) -> None:
    rows = [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": "AACAPwAAAAA="}]
    server.answers = [json_answer({"data": rows, "usage": {"prompt_tokens": 4}})]
    embedder = OpenAIEmbedder(OpenAISettings(base_url=server.url, embedding_model="e", dimensions=2), context)
    made = await embedder.embed(EmbedRequest(model="", texts=("a", "b")), call)
    assert made.vectors == ((1.0, 0.0), (0.0, 1.0))
    assert server.asked[0].body == {"model": "e", "input": ["a", "b"], "dimensions": 2}
    assert call.spent[0].input_tokens == 4
    assert (await embedder.embed(EmbedRequest(model="", texts=()), call)).vectors == ()


async def test_embeddings_without_indexes_follow_the_texts(
    server: ScriptedServer, context: PluginContext, call: FakeCall
) -> None:
    server.answers = [json_answer({"data": [{"index": None, "embedding": [number]} for number in (3, 2, 1)]})]
    embedder = OpenAIEmbedder(OpenAISettings(base_url=server.url, embedding_model="e"), context)
    made = await embedder.embed(EmbedRequest(model="", texts=("a", "b", "c")), call)
    assert made.vectors == ((3.0,), (2.0,), (1.0,))


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        {"data": [1, 2]},
        {"data": {"a": 1, "b": 2}},
        {"data": [{"embedding": [1.0]}]},
        {
            "data": [
                {"index": 0, "embedding": [1.0]},
                {"index": 0, "embedding": [2.0]},
                {"index": 1, "embedding": [3.0]},
            ]
        },
        {"data": [{"embedding": [1.0]}, {"embedding": []}]},
        {"data": [{"embedding": [1.0]}, {"embedding": None}]},
        {"data": [{"embedding": [1.0]}, {"embedding": [float("nan")]}]},
        {"data": [{"embedding": [1.0]}, {"embedding": [float("inf")]}]},
    ],
)
async def test_malformed_embeddings_are_bad_replies(
    server: ScriptedServer, context: PluginContext, call: FakeCall, answer: Any
) -> None:
    server.answers = [json_answer(answer)]
    embedder = OpenAIEmbedder(OpenAISettings(base_url=server.url, embedding_model="e"), context)
    with pytest.raises(BadReply):
        await embedder.embed(EmbedRequest(model="", texts=("a", "b")), call)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (json_answer({"data": [{"embedding": [1.0, 2.0]}]}), "2 dimensions instead of 256"),
        (
            ScriptedAnswer(b"<html><title>Sign in</title></html>", 200),
            r"127.0.0.1:\d+: the answer is a web page, 'Sign in' instead",
        ),
        (refused("The model `e` does not exist", 404), "set another in the section's embedding_model"),
    ],
)
async def test_faults_of_embeddings_are_reported(
    server: ScriptedServer, context: PluginContext, call: FakeCall, answer: ScriptedAnswer, words: str
) -> None:
    server.answers = [answer]
    embedder = OpenAIEmbedder(OpenAISettings(base_url=server.url, embedding_model="e", dimensions=256), context)
    with pytest.raises(Unsupported, match=words):
        await embedder.embed(EmbedRequest(model="", texts=("a",)), call)


@pytest.mark.parametrize(
    "refusal",
    [
        refused("This model only support stream mode, please enable the stream parameter to access the model."),
        refused("Requests with max_tokens > 4096 must have stream=true", 422),
        refused("gateway timeout", 504),
    ],
)
async def test_a_required_stream_is_used_without_a_follower(
    server: ScriptedServer, provider: Make, call: FakeCall, refusal: ScriptedAnswer
) -> None:
    call.followed = False
    server.answers = [refusal, spoken()]
    model = provider()
    await model.ask(max_tokens=9)
    await model.ask(max_tokens=9)
    assert ["stream" in asked.body for asked in server.asked] == [False, True, True]
    assert all(asked.body["max_tokens"] == 9 for asked in server.asked)


async def test_streaming_that_is_switched_off_stays_off(server: ScriptedServer, provider: Make) -> None:
    server.answers = [refused("gateway timeout", 504)]
    with pytest.raises(Unavailable):
        await provider(stream=False).ask()
    assert len(server.asked) == 1


def test_allowed_tools_are_sent_to_official_endpoints(request_of: Ask) -> None:
    find = Tool(name="find", description="finds", parameters={"type": "object"})
    masked, closed = request_of(tools=(find,), allowed=("find",)), request_of(tools=(find,), allowed=())
    named = {"type": "function", "function": {"name": "find"}}
    said = chat_completions.request_body(masked, "m", Quirks())
    assert said["tool_choice"] == {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [named]}}
    assert said["tools"] == chat_completions.request_body(request_of(tools=(find,)), "m", Quirks())["tools"]
    assert responses.request_body(masked, "m", Quirks(api="responses"))["tool_choice"] == {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "function", "name": "find"}],
    }
    assert chat_completions.request_body(closed, "m", Quirks())["tool_choice"] == "none"
    assert "tool_choice" not in chat_completions.request_body(request_of(tools=(find,)), "m", Quirks())
    refusal = Refusal(400, "Invalid value for 'tool_choice': 'allowed_tools' is not supported.")
    assert learn(Quirks(), refusal, said) == Quirks(choice=False)
    assert "tool_choice" not in chat_completions.request_body(masked, "m", Quirks(choice=False))


async def test_allowed_tools_are_left_out_elsewhere(server: ScriptedServer, provider: Make) -> None:
    server.answers = [spoken()]
    find = Tool(name="find", description="finds", parameters={"type": "object"})
    await provider().ask(tools=(find,), allowed=("find",))
    assert "tool_choice" not in server.asked[0].body
