"""The plugin `openai`: chats and embeddings of OpenAI-compatible endpoints, over HTTP without an SDK (decision 12).

`provider` sends requests through `endpoint`. `chat_completions` and `responses` write the requests and read the replies
of the two APIs into `replies`. `errors` turns refusals into provider errors; `endpoint_quirks` learns from a refusal
which part of a request an endpoint does not support, and leaves it out from then on.
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


def _provider(settings: OpenAISettings, context: Context) -> AIProvider:
    from leadline_plugins.ai.openai.provider import OpenAI

    return OpenAI(settings, context)


def _embedder(settings: OpenAISettings, context: Context) -> Embedder:
    from leadline_plugins.ai.openai.provider import OpenAIEmbedder

    return OpenAIEmbedder(settings, context)


@hookimpl
def leadline_ai_providers() -> Iterable[Offer[OpenAISettings, AIProvider]]:
    """Offer the language models."""
    yield Offer(
        _provider,
        OpenAISettings,
        "Language models of OpenAI and of any OpenAI-compatible server (Ollama, vLLM, llama.cpp, OpenRouter …)",
        env=ENV,
        ready=ready,
        answers=("base_url", "api_version", "model", "models", "extra_body"),
        priced=True,
        at_once=200,  # a server has many runs at once; the vendor's own limit arrives as status 429
        timeout=600.0,  # reasoning models take minutes; `read_timeout` notices a silent server earlier
    )


@hookimpl
def leadline_embedders() -> Iterable[Offer[OpenAISettings, Embedder]]:
    """Offer the embeddings."""
    yield Offer(
        _embedder,
        OpenAISettings,
        "Embeddings of OpenAI or of any OpenAI-compatible server",
        env=ENV,
        ready=ready,
        answers=("base_url", "api_version", "embedding_model", "dimensions"),
        priced=True,
        timeout=120.0,
    )
