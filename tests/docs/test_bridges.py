"""The page on bridges holds with the real frameworks, each in an environment of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import pytest

ROOT = Path(__file__).parents[2]
BRIDGES = ROOT / "contrib" / "leadline-bridges"
PAGE = (ROOT / "docs" / "how-to" / "bridges.md").read_text(encoding="utf-8")
PACKAGES = {
    "langchain": ("langchain>=1", "langgraph", "langchain-openai"),
    "llama_index": ("llama-index-core",),
    "haystack": ("haystack-ai",),
    "pydantic_ai": ("pydantic-ai-slim",),
    "openai_agents": ("openai-agents",),
    "smolagents": ("smolagents",),
}
# The name that the snippet takes as given, and what is done with it afterwards: it prints the report.
MODELS = {
    "langchain": """
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
call = {"name": "research", "args": {"question": "How many feet is a fathom?"}, "id": "1"}
class Scripted(FakeMessagesListChatModel):
    def bind_tools(self, tools, **options):
        return self
model = Scripted(responses=[AIMessage("", tool_calls=[call]), AIMessage("done")])
""",
    "llama_index": "from llama_index.core.llms.mock import MockFunctionCallingLLM\nllm = MockFunctionCallingLLM()",
    "pydantic_ai": """
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
call = ToolCallPart("research", {"question": "How many feet is a fathom?"})
model = FunctionModel(lambda messages, info: ModelResponse([TextPart("done") if len(messages) > 1 else call]))
""",
    "openai_agents": "model = None",
    "smolagents": "from smolagents import Model\nmodel = Model()",
}
USES = {
    "langchain": """
import asyncio
done = asyncio.run(agent.ainvoke({"messages": [{"role": "user", "content": "fathom?"}]}))
print(done["messages"][-2].content)
""",
    "llama_index": """
import asyncio
print(asyncio.run(agent.tools[0].acall(question="How many feet is a fathom?")).content)
""",
    "haystack": 'print(pipeline.run({"question": "How many feet is a fathom?"}))',
    "pydantic_ai": 'print(agent.run_sync("How many feet is a fathom?").all_messages())',
    "openai_agents": """
import asyncio
async def main():
    async with leadline:
        print(await leadline.call_tool("research", {"question": "How many feet is a fathom?"}))
asyncio.run(main())
""",
    "smolagents": 'print(agent.tools["research"](question="How many feet is a fathom?"))',
}
CONTRACT = """
import pytest
from leadline_bridges.{name} import {bridge}
from leadline.testing.contracts import SearchProviderContract

class TestHouse(SearchProviderContract):
    tested = {bridge}

    @pytest.fixture
    def settings(self, offer):
        return offer.settings(make="house:retriever")
"""
# A chat model of LangChain over OpenAI's SDK, whose service is on this machine.
CHAT = """
import json
import pytest
from leadline_bridges.langchain import ChatModel
from leadline.errors import Denied, QuotaSpent, TooLong, Unavailable
from leadline.plugin import ChatRequest, Message, Tool
from leadline.testing.context import FakeCall
from leadline.testing.contracts import AIProviderContract
from leadline.testing.servers import ScriptedAnswer, json_answer, scripted_server

ABOUT = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-5"}
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "prompt_tokens_details": {"cached_tokens": 5}}
PLACE = {"type": "object", "properties": {"at": {"type": "string"}}}
TOOL = Tool(name="sound", description="Sounds.", parameters=PLACE)

def answer(request, message=None):
    message = {"role": "assistant", **(message or {"content": "Nine fathoms."})}
    end = "tool_calls" if "tool_calls" in message else "stop"
    if not request.body.get("stream"):
        choices = [{"index": 0, "finish_reason": end, "message": message}]
        return json_answer(ABOUT | {"choices": choices, "usage": USAGE})
    chunks = [{"choices": [{"index": 0, "delta": message, "finish_reason": end}]}, {"choices": [], "usage": USAGE}]
    lines = [json.dumps(ABOUT | {"object": "chat.completion.chunk"} | chunk) for chunk in chunks] + ["[DONE]"]
    body = "".join(f"data: {line}\\n\\n" for line in lines).encode()
    return ScriptedAnswer(body, headers={"content-type": "text/event-stream"})

def named(url):
    account = {"base_url": url, "api_key": "a-key-of-the-tests", "max_retries": 0}
    return {"make": "langchain_openai:ChatOpenAI", "arguments": {"model": "gpt-5", **account}}

class TestChat(AIProviderContract):
    tested = ChatModel

    @pytest.fixture
    async def settings(self, offer):
        async with scripted_server({"/chat/completions": answer}) as server:
            yield offer.settings(**named(server.url))

    @pytest.mark.parametrize("followed", [True, False])
    async def test_tools(self, offer, context, followed):
        calls = [
            {"index": 0, "id": "a", "type": "function", "function": {"name": "sound", "arguments": '{"at": "mole"}'}},
            {"index": 1, "id": "b", "type": "function", "function": {"name": "sound", "arguments": '{"at'}},
        ]
        call, replies = FakeCall(), iter([{"content": "", "tool_calls": calls}, {"content": "Nine fathoms."}])
        call.followed = followed
        async with scripted_server({"/chat/completions": lambda request: answer(request, next(replies))}) as server:
            async with ChatModel(offer.settings(**named(server.url)), context) as model:
                turns = (Message(role="user", text="How deep?"),)
                reply = await model.chat(ChatRequest(model="", messages=turns, tools=(TOOL,)), call)
                first, second = reply.message.tool_calls
                assert (first.id, first.arguments, second.unread) == ("a", {"at": "mole"}, '{"at')
                assert (call.spent[0].input_tokens, call.spent[0].cached_tokens) == (7, 5)
                results = [Message(role="tool", text="nine", tool_call_id=it.id) for it in (first, second)]
                turns = (*turns, reply.message, *results)
                await model.chat(ChatRequest(model="gpt-5", messages=turns, tools=(TOOL,), max_tokens=9), call)
        sent = server.asked[1].body
        assert [it["id"] for it in sent["messages"][1]["tool_calls"]] == ["a", "b"]
        assert (sent["messages"][2]["tool_call_id"], sent["max_completion_tokens"]) == ("a", 9)

    @pytest.mark.parametrize("followed", [True, False])
    @pytest.mark.parametrize(
        ("status", "code", "kind"),
        [
            (401, "invalid_api_key", Denied),
            (429, "insufficient_quota", QuotaSpent),
            (400, "context_length_exceeded", TooLong),
            (500, "", Unavailable),
        ],
    )
    async def test_faults(self, offer, context, status, code, kind, followed):
        call = FakeCall()
        call.followed = followed
        refusal = json_answer({"error": {"message": "refused", "code": code}}, status)
        async with scripted_server({"/chat/completions": refusal}) as server:
            async with ChatModel(offer.settings(**named(server.url)), context) as model:
                with pytest.raises(kind, match="langchain_openai:ChatOpenAI.*refused"):
                    await model.chat(ChatRequest(model="", messages=(Message(role="user", text="a"),)), call)
"""
SETTINGS = """
search.engines = ["kb"]
ai.providers = ["embedded"]
plugins.kb = {{ use = "{name}", make = "house:retriever" }}
"""


def block(mark: str) -> str:
    """Return a block of the page by what follows its language."""
    found = re.search(rf"^```python {mark}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"the page has no block {mark!r}"
    return found[1]


def installed(folder: Path, *packages: str) -> Path:
    """Return the interpreter of a new environment with Leadline, the bridges, and packages of the index."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "--quiet", "install"]
    done = subprocess.run([*pip, "pytest", "pytest-asyncio", *packages], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{' '.join(packages)} cannot be installed: {done.stderr.strip().rpartition(chr(10))[2]}")
    subprocess.run([*pip, str(ROOT), str(BRIDGES)], check=True)
    return python


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Path]:
    """Return a folder for an environment, which is 200 MB that nobody needs afterwards."""
    yield tmp_path / "environment"
    rmtree(tmp_path / "environment", ignore_errors=True)


def output(python: Path, *arguments: str) -> str:
    """Run an interpreter in the working folder and return what it prints."""
    environ = {**os.environ, "PYTHONPATH": ".", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run([str(python), *arguments], env=environ, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name", PACKAGES)
def test_the_page_holds_with(name: str, environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(environment.parent)
    python = installed(environment, *PACKAGES[name])
    Path("papers").mkdir()
    Path("papers", "lengths.txt").write_text("A fathom is six feet. A cable is a hundred fathoms.")
    Path("snippet.py").write_text("\n".join((MODELS.get(name, ""), block(f"out {name}"), USES[name])), encoding="utf-8")
    assert "A fathom is six feet." in output(python, "snippet.py")
    if f"python house {name}" not in PAGE:
        return
    Path("house.py").write_text(block(f"house {name}"), encoding="utf-8")
    bridge = "Component" if name == "haystack" else "Retriever"
    Path("test_house.py").write_text(CONTRACT.format(name=name, bridge=bridge), encoding="utf-8")
    if name == "langchain":
        Path("test_chat.py").write_text(CHAT, encoding="utf-8")
    output(python, "-m", "pytest", "-q", "-o", "asyncio_mode=auto")
    Path("leadline.toml").write_text(SETTINGS.format(name=name), encoding="utf-8")
    report = output(python, "-m", "leadline", "research", "--settings", "leadline.toml", "How many feet is a fathom?")
    assert "https://wiki.example/fathom" in report


@pytest.mark.slow
def test_the_snippet_without_a_framework_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("papers").mkdir()
    Path("papers", "lengths.txt").write_text("A fathom is six feet. A cable is a hundred fathoms.")
    Path("snippet.py").write_text(block("out plain"), encoding="utf-8")
    assert "complete" in output(Path(sys.executable), "snippet.py")
