"""The library itself: imported once, in a thread, with nothing that reaches out by itself."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from leadline.contracts import Context
from leadline_plugins.ai.litellm.settings import LitellmSettings

_LOCAL = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS")
"""Tables that it would fetch from GitHub otherwise: at its import, and on the event loop amid a request."""
_IMPORTED_WITH = {"DEFAULT_MAX_RETRIES": "0"}
"""Read at its import. Embeddings by OpenAI's SDK heed no other word, and retries are the house's."""
_SKIP_MCP = "_skip_mcp_handler"
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")


def load() -> Any:
    """Import litellm; it would fetch tables, report on itself and log to the terminal if it were not told otherwise."""
    for name in _LOCAL:
        os.environ.setdefault(name, "True")
    with _set(_IMPORTED_WITH):
        litellm: Any = import_module("litellm")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.disable_aiohttp_transport = True  # httpx takes proxies and certificates from the environment
    litellm.disable_hf_tokenizer_download = True  # it counts the tokens of some vendors' streams by them
    for name in _LOGGERS:  # its own handlers write to the terminal, where the run's lines stand
        logging.getLogger(name).handlers = [logging.NullHandler()]
    return litellm


@contextmanager
def _set(variables: Mapping[str, str]) -> Iterator[None]:
    """Set those variables that are not set, for the time being."""
    fresh = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(fresh)
    try:
        yield
    finally:
        for name in fresh:
            os.environ.pop(name, None)


def without_mcp(litellm: Any) -> dict[str, Any]:
    """Return the argument by which a request with tools goes out without its proxy for MCP, where it has one.

    To look whether a tool is the proxy's it imports the whole of it, which needs packages that litellm does not bring.
    """
    known = inspect.unwrap(litellm.completion).__code__.co_consts
    return {_SKIP_MCP: True} if _SKIP_MCP in known else {}


class Library:
    """Warms the import as soon as the plugin is made, so that the first call need not wait for all of it."""

    def __init__(self, context: Context) -> None:
        self._loading = asyncio.ensure_future(context.in_thread(load))

    async def get(self) -> Any:
        """Return the imported library."""
        return await asyncio.shield(self._loading)


def account(settings: LitellmSettings, silence: float = 0.0) -> dict[str, Any]:
    """Return the arguments that say where to ask, on whose account, and how long to wait: `silence` (s) at least."""
    import httpx

    arguments: dict[str, Any] = {
        "timeout": httpx.Timeout(max(settings.read_timeout, silence), connect=settings.connect_timeout),
        "num_retries": 0,
        "max_retries": 0,
    }
    if settings.api_base:
        arguments["api_base"] = settings.api_base
    if key := settings.api_key.get_secret_value():
        arguments["api_key"] = key
    if settings.headers:
        arguments["extra_headers"] = {name: value.get_secret_value() for name, value in settings.headers.items()}
    return arguments | {name: value.get_secret_value() for name, value in settings.credentials.items()}
