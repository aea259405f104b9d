"""The plugin `litellm`: the vendors that speak a protocol of their own, by the library that knows a hundred of them.

The library takes seconds to import and 170 MB of disk: it is an extra, and imported in a thread once it is used.
"""

from __future__ import annotations

from collections.abc import Iterable

from leadline.contracts import AIProvider, Context, Embedder
from leadline.hookspecs import Offer, hookimpl
from leadline_plugins.ai.litellm.settings import LitellmSettings
from leadline_plugins.ai.openai.proxies import proxy_fault
from leadline_plugins.ai.openai.settings import unsendable

__all__ = ["LitellmSettings", "leadline_ai_providers", "leadline_embedders"]

_REQUIRES = ("litellm=leadline[litellm]",)


def _provider(settings: LitellmSettings, context: Context) -> AIProvider:
    from leadline_plugins.ai.litellm.provider import Litellm

    return Litellm(settings, context)


def _embedder(settings: LitellmSettings, context: Context) -> Embedder:
    from leadline_plugins.ai.litellm.embedder import LitellmEmbedder

    return LitellmEmbedder(settings, context)


def _ready(settings: LitellmSettings) -> str | None:
    """Say what no request could be made of; whether there is a key, litellm itself finds out by the vendor's rules."""
    return unsendable(settings.api_key, settings.headers) or proxy_fault("")


@hookimpl
def leadline_ai_providers() -> Iterable[Offer[LitellmSettings, AIProvider]]:
    """Offer the language models."""
    yield Offer(
        _provider,
        LitellmSettings,
        "Language models of 100 vendors (Anthropic, Gemini, Cohere, Bedrock …), by the library litellm",
        requires=_REQUIRES,
        ready=_ready,
        answers=("model", "api_base", "models", "extra"),
        priced=True,
        at_once=200,
        timeout=600.0,
    )


@hookimpl
def leadline_embedders() -> Iterable[Offer[LitellmSettings, Embedder]]:
    """Offer the embeddings."""
    yield Offer(
        _embedder,
        LitellmSettings,
        "Embeddings of many vendors (Cohere, Voyage, Gemini …), by the library litellm",
        requires=_REQUIRES,
        ready=_ready,
        answers=("embedding_model", "api_base"),
        priced=True,
        timeout=120.0,
    )
