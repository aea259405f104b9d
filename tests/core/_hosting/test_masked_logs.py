"""Secrets are masked in the log of a plugin and in that of its HTTP client."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import httpx
import pytest

from leadline._hosting.context import PluginContext
from leadline._settings.secrets import MASK, Secrets

SECRET = "configured-secret-abcdefgh-42"


def context(folder: Path) -> PluginContext:
    parsers: Any = None
    return PluginContext("masked", folder, parsers, scrub=Secrets([SECRET]).scrub)


def test_the_log_of_a_plugin_has_no_secret(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = context(tmp_path).log
    log.warning("key %s", SECRET)
    log.getChild("part").warning("key %s", SECRET)
    try:
        raise ValueError(SECRET)
    except ValueError:
        log.exception("refused")
    assert [record.getMessage() for record in caplog.records] == [f"key {MASK}", f"key {MASK}", "refused"]
    assert SECRET not in caplog.text
    assert f"ValueError: {MASK}" in caplog.text
    assert caplog.records[0].name == "leadline.plugins.masked"


def test_the_level_of_the_common_logger_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = context(tmp_path).log
    for level in (logging.INFO, logging.ERROR):
        with caplog.at_level(level, "leadline.plugins.masked"):
            log.info("said")
    assert [record.getMessage() for record in caplog.records] == ["said"]


async def test_the_log_of_httpx_has_no_secret(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = list(logging.getLogger("httpx").filters)
    masked = context(tmp_path)
    client = masked.http(transport=httpx.MockTransport(lambda request: httpx.Response(200)))
    with caplog.at_level(logging.INFO):
        await client.get("http://127.0.0.1/", params={"key": SECRET})
    await masked.close()
    assert f"?key={MASK}" in caplog.text
    assert SECRET not in caplog.text
    assert logging.getLogger("httpx").filters == before
