"""The embedded provider: the typed tasks of research by algorithm, without a language model.

It never writes a sentence of its own: what it contributes is choice and order. So its reports are verbatim quotes,
exact, private and free, and it says so when the documents do not answer.
"""

from __future__ import annotations

from collections.abc import Iterable

from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline_plugins.ai.embedded.provider import Embedded


@hookimpl
def leadline_ai_providers() -> Iterable[Offer[PluginSettings, Embedded]]:
    """Offer the provider that needs no key, no network and no model."""
    yield Offer(
        lambda settings, context: Embedded(),
        PluginSettings,
        "Research tasks by algorithm, every sentence a quote",
    )
