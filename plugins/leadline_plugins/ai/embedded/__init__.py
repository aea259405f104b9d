"""The embedded provider: planning and searching by algorithm, without a language model.

It is exact, private and free. It writes nothing: without a model a report is a brief (`writing/brief`).
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
    summary = "Research by algorithm: no key, no model, the report is the passages found"
    yield Offer(_make, PluginSettings, summary, free=True, algorithm=True)
