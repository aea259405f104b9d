"""The pipelines that a server offers: those that can run with its settings."""

from __future__ import annotations

import asyncio

from leadline import Client
from leadline.errors import ConfigError, LeadlineError
from leadline.inventory import InstalledPipeline
from leadline_server.problems import Problem

# Kinds of plugin that a pipeline may lack, in the words of a reader.
LACKS = {"ai_providers": "a language model", "sandboxes": "a sandbox for programs", "search_engines": "a search engine"}
# The engines that read documents of the user's own.
_OWN = ("local", "knowledge")


def plugins_for(tool: str, pipeline: InstalledPipeline) -> list[str]:
    """Return the plugins by which a pipeline does what a tool does, by OpenAI's name of the tool."""
    engines, knowledge = pipeline.uses.get("search.engines", ()), pipeline.uses.get("knowledge.base", ())
    match tool:
        case "web_search":
            return [name for name in engines if name not in _OWN]
        case "file_search":
            return [*knowledge, *engines]  # every search finds documents, too
        case "code_interpreter":
            return [*pipeline.uses.get("code.sandbox", ())]
        case "mcp":
            return [*engines, *pipeline.uses.get("read.fetchers", ())]
    return []


def reads_documents_alone(pipeline: InstalledPipeline) -> bool:
    """Return whether a pipeline reads documents of the user's own, and nothing from the web."""
    return bool(plugins_for("file_search", pipeline)) and not plugins_for("web_search", pipeline)


class Pipelines:
    """The pipelines of a client's settings. The first question about them examines them, which takes a second."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._found: tuple[InstalledPipeline, ...] = ()
        self._examining = asyncio.Lock()

    async def able(self) -> dict[str, InstalledPipeline]:
        """Return the pipelines that can run, by name."""
        return {pipeline.name: pipeline for pipeline in await self.all() if not pipeline.problem}

    async def refusal(self, name: str, error: ConfigError) -> Problem | LeadlineError:
        """Return the error of an order by a pipeline: what the server lacks for it, or `error` if that is no reason."""
        lacks = next((pipeline.lacks for pipeline in await self.all() if pipeline.name == name), ())
        if not lacks:
            return error
        needed = " and ".join(LACKS.get(kind, kind.replace("_", " ")) for kind in lacks)
        message = f"the pipeline {name} needs {needed}, which this server does not have"
        return Problem(422, "pipeline_unavailable", message, f"choose from: {', '.join(sorted(await self.able()))}")

    async def all(self) -> tuple[InstalledPipeline, ...]:
        """Return the pipelines of the settings, and why some cannot run here."""
        async with self._examining:
            if not self._found:
                self._found = tuple(await asyncio.to_thread(self._client.describe_pipelines))
            return self._found
