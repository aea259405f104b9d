"""The library litellm: imported once, in a thread, without network requests of its own."""

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

# Tables that litellm would otherwise fetch from GitHub, at import and during a request.
_LOCAL = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS")
# Read at import. Embeddings by OpenAI's SDK respect no other setting, and Leadline does the retries.
_IMPORTED_WITH = {"DEFAULT_MAX_RETRIES": "0"}
_SKIP_MCP = "_skip_mcp_handler"
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")


def load() -> Any:
    """Import litellm without its telemetry, its downloads and its output to the terminal."""
    for name in _LOCAL:
        os.environ.setdefault(name, "True")
    with _set(_IMPORTED_WITH):
        litellm: Any = import_module("litellm")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.disable_aiohttp_transport = True  # httpx takes proxies and certificates from the environment
    litellm.disable_hf_tokenizer_download = True  # for counting the tokens of some streams
    for name in _LOGGERS:  # its handlers would write between the lines of a run
        logging.getLogger(name).handlers = [logging.NullHandler()]
    return litellm


@contextmanager
def _set(variables: Mapping[str, str]) -> Iterator[None]:
    """Set the environment variables that are not set, until the end of the block."""
    fresh = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(fresh)
    try:
        yield
    finally:
        for name in fresh:
            os.environ.pop(name, None)


def without_mcp(litellm: Any) -> dict[str, Any]:
    """Return the argument that keeps litellm's MCP proxy out of a request with tools, if this version has it.

    To check whether a tool belongs to the proxy, litellm imports it, which needs packages that are not installed.
    """
    known = inspect.unwrap(litellm.completion).__code__.co_consts
    return {_SKIP_MCP: True} if _SKIP_MCP in known else {}


class LitellmLibrary:
    """Starts the import when the plugin is created, so that the first call waits less."""

    def __init__(self, context: Context) -> None:
        self._loading = asyncio.ensure_future(context.in_thread(load))

    async def get(self) -> Any:
        """Return the imported library."""
        return await asyncio.shield(self._loading)


def account(settings: LitellmSettings, silence: float = 0.0) -> dict[str, Any]:
    """Return the arguments for address, account and timeouts; `silence` is the shortest read timeout in seconds."""
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
