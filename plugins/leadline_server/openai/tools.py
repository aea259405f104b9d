"""The tools that a request names: what its run does anyway, or an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from leadline.inventory import InstalledPipeline
from leadline_server.openai.requests import MODEL_PREFIX, unsupported
from leadline_server.pipelines import plugins_for

# OpenAI's names of tools; some come with a date.
_KINDS = ("web_search", "file_search", "code_interpreter", "mcp")
# The options of tools that ask for what a run does anyway.
_USUAL: Mapping[str, JsonValue] = {
    "container": {"type": "auto"},
    "external_web_access": True,
    "require_approval": "never",
    "search_context_size": "medium",
    "user_location": {"type": "approximate"},
}
# What a tool is, and what a run is told of it.
_NAMES = ("type", "server_label", "vector_store_ids")


def check_tools(tools: Sequence[Mapping[str, JsonValue]], name: str, able: Mapping[str, InstalledPipeline]) -> None:
    """Raise `Problem` for a tool that the runs of a pipeline do not use; `able` are the pipelines to choose from."""
    kinds = {f"tools.{index}": _kind(tool) for index, tool in enumerate(tools)}
    for (where, kind), tool in zip(kinds.items(), tools, strict=True):
        uses = {other: names for other, pipeline in able.items() if (names := plugins_for(kind, pipeline))}
        if name not in uses:
            choices = ", ".join(f"{MODEL_PREFIX}{other}" for other in sorted(uses)) or "none of this server does"
            reason = "a run calls no tools of a client" if kind not in _KINDS else f"this model does not use {kind}"
            hint = f"choose from: {', '.join(_KINDS)}" if kind not in _KINDS else f"models that do: {choices}"
            raise unsupported(f"{where}: {reason}", hint)
        label = tool.get("server_label")
        if kind == "mcp" and label not in uses[name]:
            hint = f"choose from: {', '.join(uses[name])}; the operator sets up MCP servers as search engines"
            raise unsupported(f"{where}.server_label: a run does not use the server {label!s:.80}", hint)
        for option, value in tool.items():
            if option not in _NAMES and _is_given(value) and value != _USUAL.get(option):
                hint = f"the only choice is {_USUAL[option]!r}" if option in _USUAL else "leave it out"
                raise unsupported(f"{where}.{option}: a request cannot change how a run uses {kind}", hint)


def _kind(tool: Mapping[str, JsonValue]) -> str:
    name = str(tool.get("type", ""))
    return next((kind for kind in _KINDS if name == kind or name.startswith(f"{kind}_")), name)


def _is_given(value: JsonValue) -> bool:
    """Return whether an option says anything: null, an empty list or a table of such says nothing."""
    if isinstance(value, dict):
        return any(map(_is_given, value.values()))
    return value is not None and value != []
