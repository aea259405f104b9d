"""The plugin `litellm`: vendors with their own protocols, through the library litellm.

The library takes seconds to import and 170 MB of disk, so it is an extra, imported in a thread when it is used.
"""

from __future__ import annotations

from collections.abc import Iterable

from leadline.contracts import AIProvider, Context, Embedder
from leadline.hookspecs import Offer, hookimpl
from leadline_plugins.ai.litellm.settings import LitellmSettings
from leadline_plugins.ai.openai.settings import header_fault, proxy_fault

__all__ = ["LitellmSettings", "leadline_ai_providers", "leadline_embedders"]

_REQUIRES = ("litellm=leadline[litellm]",)


def _provider(settings: LitellmSettings, context: Context) -> AIProvider:
    from leadline_plugins.ai.litellm.provider import Litellm

    return Litellm(settings, context)


def _embedder(settings: LitellmSettings, context: Context) -> Embedder:
    from leadline_plugins.ai.litellm.provider import LitellmEmbedder

    return LitellmEmbedder(settings, context)


def _ready(settings: LitellmSettings) -> str | None:
    """Return a fault that prevents every request; litellm itself checks the key by the vendor's rules."""
    return header_fault(settings.api_key, settings.headers) or proxy_fault("")


@hookimpl
def leadline_ai_providers() -> Iterable[Offer[LitellmSettings, AIProvider]]:
    """Offer the language models."""
    yield Offer(
        _provider,
        LitellmSettings,
        "Language models of 100 vendors (Anthropic, Gemini, Cohere, Bedrock …) through litellm",
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
        "Embeddings of many vendors (Cohere, Voyage, Gemini …) through litellm",
        requires=_REQUIRES,
        ready=_ready,
        answers=("embedding_model", "api_base"),
        priced=True,
        timeout=120.0,
    )
