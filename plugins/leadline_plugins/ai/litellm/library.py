"""The library itself: imported once, in a thread, with nothing that reaches out by itself."""

from __future__ import annotations

import asyncio
import os
from importlib import import_module
from typing import Any

from leadline.contracts import Context
from leadline_plugins.ai.litellm.settings import LitellmSettings


def load() -> Any:
    """Import litellm; it would fetch a table of prices and report on itself if it were not told otherwise."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm: Any = import_module("litellm")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.disable_aiohttp_transport = True  # httpx takes proxies and certificates from the environment
    return litellm


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
    return arguments
