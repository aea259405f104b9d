"""What a plugin's own methods must be: a method that is awaited and was written without `async` is told by its name."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from leadline.errors import PluginFault

AWAITED: Mapping[str, tuple[str, ...]] = {
    "ai_providers": ("chat", "perform"),
    "search_providers": ("search",),
    "search_strategies": ("search",),
    "synthesizers": ("synthesize",),
    "chart_runners": ("draw",),
    "sandboxes": ("execute",),
    "report_formatters": ("format",),
    "fetchers": ("fetch",),
    "parsers": ("parse",),
    "embedders": ("embed",),
    "rerankers": ("rerank",),
    "claim_judges": ("judge",),
    "stages": ("run", "map", "rest"),
    "middleware": ("around",),
    "observers": ("observe",),
}
"""The methods that are awaited, by kind."""


def awaitable(made: Any, kinds: Iterable[str], who: str) -> Any:
    """Return a plugin whose methods say who they are where they return what cannot be awaited; `who` names the plugin.

    A method without `async` is let be: it may hand on what another's returns.
    """
    for name in {name for kind in kinds for name in AWAITED[kind]}:
        method = getattr(made, name, None)
        if (inspect.ismethod(method) or inspect.isfunction(method)) and not inspect.iscoroutinefunction(method):
            try:
                setattr(made, name, _watched(method, who))
            except (AttributeError, TypeError):
                continue  # slots, or frozen: then Python's own words must do
    return made


def _watched(method: Callable[..., Any], who: str) -> Callable[..., Awaitable[Any]]:
    @wraps(method)
    async def watched(*args: Any, **kwargs: Any) -> Any:
        answer = method(*args, **kwargs)
        if not inspect.isawaitable(answer):
            raise PluginFault(
                f"{who} returns {type(answer).__name__} from {method.__qualname__}, which is awaited: "
                f"write `async def {method.__name__}`"
            )
        return await answer

    return watched
