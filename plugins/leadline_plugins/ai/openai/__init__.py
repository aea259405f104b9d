"""The plugin `openai`: chats and embeddings of OpenAI-compatible endpoints, over HTTP without an SDK (decision 12).

`provider` sends requests through `endpoint`. `chat_completions` and `responses` write the requests and read the replies
of the two APIs into `replies`. `errors` turns refusals into provider errors; `endpoint_quirks` learns from a refusal
which part of a request an endpoint does not support, and leaves it out from then on.
"""

from __future__ import annotations

from leadline.contracts import AIProvider, Context, Embedder
from leadline.plugin import Limits, ai_provider, embedder
from leadline_plugins.ai.openai.settings import OpenAISettings, ready

__all__ = ["OpenAISettings"]

ENV = {
    "api_key": "OPENAI_API_KEY",
    "base_url": "OPENAI_BASE_URL",
    "organization": "OPENAI_ORG_ID",
    "project": "OPENAI_PROJECT_ID",
}


@ai_provider(
    "Language models of OpenAI and of any OpenAI-compatible server (Ollama, vLLM, llama.cpp, OpenRouter …)",
    settings=OpenAISettings,
    env=ENV,
    ready=ready,
    cache_key=("base_url", "api_version", "model", "models", "extra_body"),
    limits=Limits(at_once=200, timeout=600.0),
    priced=True,
)
def _provider(settings: OpenAISettings, context: Context) -> AIProvider:
    from leadline_plugins.ai.openai.provider import OpenAI

    return OpenAI(settings, context)


@embedder(
    "Embeddings of OpenAI or of any OpenAI-compatible server",
    settings=OpenAISettings,
    env=ENV,
    ready=ready,
    cache_key=("base_url", "api_version", "embedding_model", "dimensions"),
    limits=Limits(timeout=120.0),
    priced=True,
)
def _embedder(settings: OpenAISettings, context: Context) -> Embedder:
    from leadline_plugins.ai.openai.provider import OpenAIEmbedder

    return OpenAIEmbedder(settings, context)
