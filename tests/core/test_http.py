"""HTTP clients for plugins: shared certificates, options of the plugin first."""

from __future__ import annotations

import ssl

import httpx
import pytest

from leadline.http import default_certificates, make_client


async def test_clients_name_leadline_unless_the_plugin_names_itself() -> None:
    async with make_client() as client, make_client(headers={"User-Agent": "mine", "X-Own": "1"}) as own:
        assert client.headers["user-agent"].startswith("leadline/")
        assert (own.headers["user-agent"], own.headers["x-own"]) == ("mine", "1")


async def test_clients_share_certificates_that_are_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = default_certificates()
    monkeypatch.setattr(ssl, "create_default_context", None)  # whoever loads certificates now fails
    async with make_client(), make_client():
        assert default_certificates() is shared


async def test_a_transport_of_the_plugin_is_used_as_it_is() -> None:
    own = httpx.MockTransport(lambda request: httpx.Response(204))
    async with make_client(transport=own) as client:
        assert (await client.get("http://example.org")).status_code == 204
