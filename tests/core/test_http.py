"""HTTP clients for plugins: shared certificates, options of the plugin first."""

from __future__ import annotations

import ssl

import httpx
import pytest

from leadline.errors import Unsupported
from leadline.http import default_certificates, make_client, proxy_of, untrusted
from leadline.testing.servers import raw_reply, scripted_server


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


@pytest.mark.parametrize(
    ("host", "no_proxy", "direct"),
    [
        ("10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "localhost, 10.1.2.3/255.0.0.0", True),
        ("11.1.2.3", "10.0.0.0/8,10.1.2.3", False),
        ("fd00::7", "fd00::/8", True),
        ("[::1]", "[::1]", True),
        ("[::1]", "[::1]:8080", True),
        ("api.example.org", "localhost:80,example.org:8080", True),
        ("api.example.org", "example.org", True),
        ("api.example.org", ".example.org", True),
        ("API.example.org", "localhost *.example.ORG", True),
        ("notexample.org", "example.org", False),
        ("example.org", "a.example.org,10.0.0.0/8,/", False),
        ("anything.org", "localhost,*", True),
        ("anything.org", "", False),
    ],
)
async def test_no_proxy_names_hosts_domains_and_networks(
    monkeypatch: pytest.MonkeyPatch, host: str, no_proxy: str, direct: bool
) -> None:
    monkeypatch.setenv("all_proxy", "127.0.0.1:3128")
    monkeypatch.setenv("no_proxy", no_proxy)
    assert proxy_of("http", host) == ("" if direct else "http://127.0.0.1:3128")


async def test_a_host_of_a_network_in_no_proxy_is_asked_directly_and_others_by_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with scripted_server({}) as site:
        monkeypatch.setenv("http_proxy", site.at(""))
        monkeypatch.setenv("no_proxy", "127.0.0.0/8")
        site.routes["/page"] = raw_reply(b"direct")
        site.routes["http://192.0.2.1/page"] = raw_reply(b"by proxy")
        async with make_client() as client:
            assert (await client.get(site.at("/page"))).text == "direct"
            assert (await client.get("http://192.0.2.1/page")).text == "by proxy"


def test_certificates_that_cannot_be_read_are_named_with_their_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")
    with pytest.raises(Unsupported, match=r"^the certificates of SSL_CERT_FILE=/nowhere\.pem.* cannot be read: "):
        default_certificates.__wrapped__()


def test_a_certificate_that_is_not_trusted_names_the_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", "/certs")
    told = untrusted(httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"))
    assert "no authority of SSL_CERT_DIR=/certs signed it" in told
    assert untrusted(httpx.ConnectError("refused")) == ""
