"""The contract tests of a plugin as it is installed, with its settings, for `leadline plugins check`.

Tests that would reach a service are left out: they need a server, as in a project's own tests. With `live`, one real
request is made instead.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from leadline._hosting.loading import AnyOffer, Plugin
from leadline.hookspecs import PluginSettings, map_stage
from leadline.testing import contracts

# The tests of a contract that make calls take one of these.
_CALLING = {"requests", "subject", "failing"}
# The kinds whose plugins may contact a service.
_REMOTE = ("ai_providers", "search_providers", "fetchers", "embedders", "vector_stores", "rerankers", "claim_judges")
_REAL = "test_it_answers_a_real_request"
# pytest imports its tests from a file.
_FILE = "from leadline.testing.check import CLASSES\n\nglobals().update(CLASSES)\n"
CLASSES: dict[str, Any] = {}


def check(plugin: Plugin, settings: PluginSettings | None, *, live: bool) -> int:
    """Run the contract tests of all kinds of a plugin, and return the exit code of pytest."""
    CLASSES.clear()
    for kind, offer in plugin.offers.items():
        name = f"Test_{plugin.name}_{kind}"
        fixtures: dict[str, Any] = {"offer": _fixture(offer), "tested": offer.make, "offered": offer}
        if settings is not None:
            fixtures["settings"] = _fixture(settings)
        if live and offer.work == "remote":
            fixtures[_REAL] = _real_request
        CLASSES[name] = type(name, (_contract(kind, offer),), fixtures)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"test_{plugin.name}.py"
        file.write_text(_FILE, encoding="utf-8")
        options = ["-q", "--tb=short", "--disable-warnings", "-p", "no:cacheprovider", "-c", os.devnull]
        options += ["-o", "asyncio_default_fixture_loop_scope=function", "--rootdir", folder, str(file)]
        return int(pytest.main(options, plugins=[_Selection()]))


def _fixture(value: Any) -> Any:
    return pytest.fixture(lambda self: value)


async def _real_request(self: Any, subject: Any, requests: Any) -> None:
    await subject.reply(requests[0])


def _contract(kind: str, offer: AnyOffer) -> type[contracts.PluginContract[Any, Any]]:
    """Return the contract of an offer."""
    if isinstance(offer, map_stage):
        return contracts.MapStageContract
    if kind == "ai_providers" and not hasattr(offer.make, "chat") and hasattr(offer.make, "perform"):
        return contracts.TaskProviderContract
    known = (getattr(contracts, name) for name in contracts.__all__)
    return next(each for each in known if isinstance(each, type) and getattr(each, "kind", "") == kind)


class _Selection:
    """Leaves out tests that lack requests, and those of remote providers that make calls."""

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Function]) -> None:
        selected = [item for item in items if _runs(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in selected])
        items[:] = selected


def _runs(item: pytest.Function) -> bool:
    needs, tested = set(item.fixturenames), item.cls
    if "requests" in needs and not hasattr(tested, "requests"):
        return False
    is_remote = tested.kind in (*_REMOTE, "observers") and tested.offered.work == "remote"
    return not (needs & _CALLING and is_remote) or item.originalname == _REAL
