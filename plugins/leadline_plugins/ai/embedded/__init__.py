"""The embedded provider: the typed tasks of research by algorithm, without a language model.

It never writes a sentence of its own: what it contributes is choice and order. So its reports are verbatim quotes,
exact, private and free, and it says so when the documents do not answer.
"""

from __future__ import annotations

from collections.abc import Iterable

from leadline.contracts import Context, TaskProvider
from leadline.hookspecs import Offer, PluginSettings, hookimpl


def _make(settings: PluginSettings, context: Context) -> TaskProvider:
    from leadline_plugins.ai.embedded.provider import Embedded

    return Embedded()


@hookimpl
def leadline_ai_providers() -> Iterable[Offer[PluginSettings, TaskProvider]]:
    """Offer the provider that needs no key, no network and no model."""
    summary = "Research by algorithm: no key, no model, every sentence a quote"
    yield Offer(_make, PluginSettings, summary, free=True)
