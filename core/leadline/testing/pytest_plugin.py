"""Fixtures for tests of plugins. pytest finds this plugin by itself; nothing is imported before a test uses it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def fake_run() -> Callable[..., Any]:
    """Return `leadline.testing.context.FakeRun`."""
    from leadline.testing.context import FakeRun

    return FakeRun


@pytest.fixture
def fake_call() -> Callable[..., Any]:
    """Return `leadline.testing.context.FakeCall`."""
    from leadline.testing.context import FakeCall

    return FakeCall


@pytest.fixture
def fake_context(tmp_path: Path) -> Callable[..., Any]:
    """Return `leadline.testing.context.fake_context` with a folder of the test."""
    from leadline.testing.context import fake_context

    return partial(fake_context, tmp_path)
