"""How an engine is reached: by httpx's own transport, which hands over the connection an attach upgrades to."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from leadline.errors import Unsupported
from leadline.testing.context import fake_context
from leadline_plugins.sandboxes.docker.engine import client_for


@pytest.mark.parametrize(
    ("host", "base"),
    [("unix:///run/engine.sock", "http://engine"), ("tcp://127.0.0.1:2375", "http://127.0.0.1:2375")],
)
async def test_it_is_reached_by_httpxs_own_transport(tmp_path: Path, host: str, base: str) -> None:
    context = fake_context(tmp_path)
    client = client_for(host, context.http)
    assert isinstance(client._transport, httpx.AsyncHTTPTransport)
    assert client.base_url == base
    await context.close()


def test_another_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="neither unix://SOCKET nor tcp://HOST:PORT"):
        client_for("ssh://host", fake_context(tmp_path).http)
