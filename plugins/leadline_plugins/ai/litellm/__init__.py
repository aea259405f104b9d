"""The plugin `litellm`: vendors with their own protocols, through the library litellm.

The library takes seconds to import and 170 MB of disk, so it is an extra, imported in a thread when it is used.
"""

from __future__ import annotations

from leadline.contracts import AIProvider, Context, Embedder
from leadline.plugin import Limits, ai_provider, embedder
from leadline_plugins.ai.litellm.settings import LitellmSettings
from leadline_plugins.ai.openai.settings import header_fault, proxy_fault

__all__ = ["LitellmSettings"]

_REQUIRES = ("litellm=leadline[litellm]",)


def _ready(settings: LitellmSettings) -> str | None:
    """Return a fault that prevents every request; litellm itself checks the key by the vendor's rules."""
    return header_fault(settings.api_key, settings.headers) or proxy_fault("")


@ai_provider(
    "Language models of 100 vendors (Anthropic, Gemini, Cohere, Bedrock …) through litellm",
    settings=LitellmSettings,
    requires=_REQUIRES,
    ready=_ready,
    cache_key=("model", "api_base", "models", "extra"),
    limits=Limits(at_once=200, timeout=600.0),
    priced=True,
)
def _provider(settings: LitellmSettings, context: Context) -> AIProvider:
    from leadline_plugins.ai.litellm.provider import Litellm

    return Litellm(settings, context)


@embedder(
    "Embeddings of many vendors (Cohere, Voyage, Gemini …) through litellm",
    settings=LitellmSettings,
    requires=_REQUIRES,
    ready=_ready,
    cache_key=("embedding_model", "api_base"),
    limits=Limits(timeout=120.0),
    priced=True,
)
def _embedder(settings: LitellmSettings, context: Context) -> Embedder:
    from leadline_plugins.ai.litellm.provider import LitellmEmbedder

    return LitellmEmbedder(settings, context)
