"""The plugin `openai`: every endpoint that speaks OpenAI's protocol, straight over HTTP and without an SDK.

`provider` asks; `endpoint` is the one way to the server. `chat` and `responses` write its two dialects, `answer` reads
what comes (streams by `sse`) into `chat_reading` and `responses_reading`. `failures`, `causes` and `waiting` turn
refusals into our errors; `lessons` learns from those that name a part of the request, `manner` remembers it.
"""

from __future__ import annotations

from collections.abc import Iterable

from leadline.contracts import AIProvider, Context, Embedder
from leadline.hookspecs import Offer, hookimpl
from leadline_plugins.ai.openai.settings import OpenAISettings, ready

__all__ = ["OpenAISettings", "leadline_ai_providers", "leadline_embedders"]

ENV = {
    "api_key": "OPENAI_API_KEY",
    "base_url": "OPENAI_BASE_URL",
    "organization": "OPENAI_ORG_ID",
    "project": "OPENAI_PROJECT_ID",
}
_AT_ONCE = 200
"""A run asks ten at once and a server of ours has many runs; the vendor's own limit comes as a 429."""
_TIMEOUT = 600.0
"""Seconds of a whole reply: reasoning models take minutes; a server that falls silent is noticed before."""


def _provider(settings: OpenAISettings, context: Context) -> AIProvider:
    from leadline_plugins.ai.openai.provider import OpenAI

    return OpenAI(settings, context)


def _embedder(settings: OpenAISettings, context: Context) -> Embedder:
    from leadline_plugins.ai.openai.embedder import OpenAIEmbedder

    return OpenAIEmbedder(settings, context)


@hookimpl
def leadline_ai_providers() -> Iterable[Offer[OpenAISettings, AIProvider]]:
    """Offer the language models."""
    yield Offer(
        _provider,
        OpenAISettings,
        "Language models: OpenAI, and every server that speaks its protocol (Ollama, vLLM, llama.cpp, OpenRouter …)",
        env=ENV,
        ready=ready,
        answers=("base_url", "model", "models", "extra_body"),
        priced=True,
        at_once=_AT_ONCE,
        timeout=_TIMEOUT,
    )


@hookimpl
def leadline_embedders() -> Iterable[Offer[OpenAISettings, Embedder]]:
    """Offer the embeddings."""
    yield Offer(
        _embedder,
        OpenAISettings,
        "Embeddings by OpenAI, or by a server that speaks its protocol",
        env=ENV,
        ready=ready,
        answers=("base_url", "embedding_model", "dimensions"),
        priced=True,
        timeout=120.0,
    )
