"""The tools that a model may call while it explores.

Their order is part of the prompt and does not change: a pipeline masks tools by name, but removes none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import ConfigDict, Field, JsonValue
from pydantic.json_schema import GenerateJsonSchema

from leadline.contracts import StageRun
from leadline.errors import CallFailed, CallRefused
from leadline.records import Code, Hit, Json, Record, Source, Text, Tool
from leadline.research_findings import Found, Query, SearchTask
from leadline_plugins.stages.fetch import read_page, without_duplicates
from leadline_plugins.stages.search import search_task
from leadline_plugins.stages.tools.exploration import Exploration

A = TypeVar("A", bound="Arguments")


class Arguments(Record):
    """Base of the arguments of a tool; accepts numbers as text, because models write them."""

    model_config = ConfigDict(coerce_numbers_to_str=True)


class _Form(GenerateJsonSchema):
    """Omits titles and defaults: every request contains the schema, and some vendors refuse unknown fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: Any) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])


@dataclass(frozen=True)
class ToolKind(Generic[A]):
    """A tool. `do` is called in the order of the calls, and its result is awaited together with the others.

    So anything that must not depend on timing (numbers, budgets) happens before the first `await`. The model reads the
    result fenced as data, and a failed call of the run as an error.
    """

    name: str
    description: str
    arguments: type[A]
    do: Callable[[A, Exploration], Awaitable[Json]]
    # Returns why the tool cannot be used in a run; empty if it can.
    unusable: Callable[[StageRun], str] = lambda run: ""

    @property
    def form(self) -> Json:
        """The JSON schema of the arguments."""
        return self.arguments.model_json_schema(schema_generator=_Form)

    @property
    def tool(self) -> Tool:
        """The tool as the model sees it."""
        return Tool(name=self.name, description=self.description, parameters=self.form)


# Characters of a snippet in the results of a search.
_SNIPPET = 300


async def _refused(reason: str) -> Json:
    return {"error": reason}


# --- respond ---------------------------------------------------------------------------------------------------------


class Respond(Arguments):
    """The outcome of the exploration."""

    findings: Text = Field(description="what was found out, in a few sentences")
    missing: tuple[Text, ...] = Field((), description="what could not be found, as questions")


async def _respond(arguments: Respond, exploration: Exploration) -> Json:
    exploration.answer, exploration.missing = arguments.findings, arguments.missing
    return {"noted": True}


RESPOND = ToolKind(
    "respond",
    "End the exploration: say what was found out and what is missing. The report is written from the pages that were "
    "read, not from this.",
    Respond,
    _respond,
)


# --- web_search ------------------------------------------------------------------------------------------------------


class WebSearch(Arguments):
    """The query of a search."""

    query: Text = Field(min_length=1, description="a few words, as typed into a search engine")
    goal: Text = Field("", description="what it is for, in one sentence")
    section: str = Field("", description="the id of the plan's section that it serves")


def _search(arguments: WebSearch, exploration: Exploration) -> Awaitable[Json]:
    if exploration.searches_left <= 0:
        return _refused("all searches of this run are made (research.max_queries): read, or respond")
    query = Query(query=arguments.query, goal=arguments.goal, section=arguments.section)
    if task := exploration.add_task(query):
        return _results(task, exploration)
    return _refused("this was searched before: say it otherwise, or read what it found")


async def _results(task: SearchTask, exploration: Exploration) -> Json:
    run = exploration.run
    try:
        result = await search_task(task, exploration.question.language, run)
    except CallRefused:
        raise
    except CallFailed as failed:
        exploration.add_result(Found(id=task.id, task=task, failure=failed.record.text))
        raise
    exploration.add_result(result)
    return {"results": [_hit_data(hit) for hit in result.hits if hit.citable]}


def _hit_data(hit: Hit) -> dict[str, JsonValue]:
    snippet = hit.snippet if len(hit.snippet) <= _SNIPPET else f"{hit.snippet[:_SNIPPET]}…"
    data: dict[str, JsonValue] = {
        "url": hit.url,
        "title": hit.title,
        "snippet": snippet,
        "published": hit.published,
        "tier": hit.tier,
    }
    return {name: value for name, value in data.items() if value}


WEB_SEARCH = ToolKind(
    "web_search",
    "Search. Gives addresses with titles and snippets, best first; tier 1 is primary and official, 2 reputable, 3 "
    "other. Several searches in one reply are made side by side.",
    WebSearch,
    _search,
)


# --- web_fetch -------------------------------------------------------------------------------------------------------


class WebFetch(Arguments):
    """The page to read, and where to start."""

    url: str = Field(min_length=1, description="an address that web_search gave")
    start: int = Field(0, ge=0, description="the character to begin at, to read on in a long text")


def _fetch(arguments: WebFetch, exploration: Exploration) -> Awaitable[Json]:
    """Read a page that a search found or the question names.

    No other address is read, so that a page cannot make the model send data to an address of its choice.
    """
    if source := exploration.source(arguments.url):
        return _read_again(source, arguments, exploration)
    known = exploration.hit(arguments.url)
    if known is None:
        return _refused("no search gave this address, and others are not read: search for it")
    hit, task_id = known
    if not hit.citable:
        return _refused("this result is no page, and nothing may rest on it")
    if exploration.pages_left <= 0:
        return _refused("all pages of this run are read (research.pages_per_query): respond")
    exploration.reserve_page(hit.url)
    return _read(hit, task_id, arguments, exploration, (*exploration.read_before, *exploration.sources))


async def _read_again(source: Source, arguments: WebFetch, exploration: Exploration) -> Json:
    return _page_data(source, arguments, exploration)


async def _read(
    hit: Hit, task_id: str, arguments: WebFetch, exploration: Exploration, before: tuple[Source, ...]
) -> Json:
    (item,) = await without_duplicates([await read_page(hit, task_id, exploration.run)], before)
    exploration.add_page(item)
    if isinstance(item, Source):
        return _page_data(item, arguments, exploration)
    return {"url": item.url, "error": item.reason}


def _page_data(source: Source, arguments: WebFetch, exploration: Exploration) -> Json:
    text, start = source.document.text, arguments.start
    part = text[start : start + exploration.page]
    data: dict[str, str | int | None] = {"url": source.hit.url, "title": source.hit.title, "text": part}
    if source.hit.published:
        data["published"] = source.hit.published
    if left := max(0, len(text) - start - len(part)):
        data["left"] = f"{left} more characters, from start={start + len(part)}"
    return data


WEB_FETCH = ToolKind(
    "web_fetch",
    "Read a page that web_search gave. Whatever is read becomes a source: quotes are taken from the whole page later, "
    "so there is no need to read on unless it matters for the next step. Several in one reply are read side by side.",
    WebFetch,
    _fetch,
)


# --- code_execute ----------------------------------------------------------------------------------------------------


class CodeExecute(Arguments):
    """The code to run."""

    code: Text = Field(min_length=1, description="Python; what it prints is given back")


async def _execute(arguments: CodeExecute, exploration: Exploration) -> Json:
    execution = await exploration.run.execute(Code(language="python", text=arguments.code))
    limit = exploration.page
    output = {"stdout": execution.stdout[:limit], "stderr": execution.stderr[-limit:], "value": execution.value}
    return {
        "exit_code": execution.exit_code,
        **{name: value for name, value in output.items() if value not in ("", None)},
    }


def _without_sandbox(run: StageRun) -> str:
    return "" if run.settings.code.sandbox else "no sandbox is set up here, so no code is run: do without"


CODE_EXECUTE = ToolKind(
    "code_execute",
    "Run Python in a sandbox without network, to compute with figures that were read. What it gives is no source and "
    "cannot be cited.",
    CodeExecute,
    _execute,
    _without_sandbox,
)

TOOLS: tuple[ToolKind[Any], ...] = (RESPOND, WEB_SEARCH, WEB_FETCH, CODE_EXECUTE)
