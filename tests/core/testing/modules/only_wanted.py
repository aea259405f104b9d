"""A plugin of pytest: of the tests of a broken plugin, run those that the variable WANTED names."""

from __future__ import annotations

import json
import os

import pytest

WANTED: dict[str, str] = json.loads(os.environ.get("WANTED", "{}"))


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    items[:] = [item for item in items if item.originalname == f"test_{wanted(item)}" or not wanted(item)]


def wanted(item: pytest.Function) -> str:
    """Return the test to run of the way in which this item is broken; empty for all tests."""
    return WANTED.get(str(item.callspec.params.get("how")), "") if hasattr(item, "callspec") else ""
