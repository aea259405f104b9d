"""Other sites that use the browser of somebody who is logged in: CSRF, DNS rebinding, session fixation, framing."""

from __future__ import annotations

import httpx
import pytest
from tests.server.attacks.conftest import Target

FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://["},
    {"Origin": "http://[zz]"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
]


def browser(attacked: Target, user: str = "alice") -> httpx.Client:
    """Return a browser that is logged in."""
    client = attacked.served.client()
    assert client.post("/v1/session", json={"token": attacked.served.tokens[user]}).status_code == 200
    return client


@pytest.mark.parametrize("headers", FOREIGN, ids=range(len(FOREIGN)))
@pytest.mark.parametrize("media", ["application/json", "text/plain", "application/x-www-form-urlencoded", ""])
def test_no_other_site_changes_anything(attacked: Target, headers: dict[str, str], media: str) -> None:
    """CSRF: with the cookie, on every route that is not only read."""
    client = browser(attacked)
    for route in attacked.routes:
        if route.method == "GET":
            continue
        sent = {**headers, "Content-Type": media} if media else headers
        reply = client.request(route.method, route.at(**attacked.values), content=b"{}", headers=sent)
        assert reply.status_code == 403, (route, reply.status_code)
    assert client.get(f"/v1/runs/{attacked.run}").status_code == 200


@pytest.mark.parametrize("target", ["http://[", "//evil.example", "/\\\\evil.example", "x", "/ok"])
def test_a_login_leads_to_an_address_of_this_server(attacked: Target, target: str) -> None:
    client = attacked.served.client()
    page = client.get("/login", params={"next": target}, headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert f'name="next" value="{target if target == "/ok" else "/"}"' in page.text
    form = {"form_token": client.cookies["leadline_form"], "token": attacked.served.tokens["alice"], "next": target}
    reply = client.post("/login", data=form, headers={"Origin": attacked.served.url})
    assert (reply.status_code, reply.headers["location"]) == (303, "/ok" if target == "/ok" else "/")


def test_a_cookie_without_an_origin_changes_nothing(attacked: Target) -> None:
    client = browser(attacked)
    for route in attacked.routes:
        if route.method != "GET" and route.path not in ("/v1/session", "/login"):
            reply = client.request(route.method, route.at(**attacked.values), json={})
            assert reply.status_code == 403, route


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "[::1", "@x", "", "a b"]
)
def test_no_name_of_others_leads_here(attacked: Target, host: str) -> None:
    """DNS rebinding, on every route, also on the public ones."""
    for route in attacked.routes:
        reply = attacked.send(route.method, route.at(**attacked.values), Host=host)
        assert reply.status in (400, 421), route


def test_a_session_that_somebody_chose_is_no_session(attacked: Target) -> None:
    """Session fixation: a login makes a secret of its own, whatever cookie is sent."""
    chosen = {"Cookie": "leadline_session=chosen-by-the-attacker"}
    login = attacked.served.client().post(
        "/v1/session", json={"token": attacked.served.tokens["alice"]}, headers=chosen
    )
    secret = login.cookies["leadline_session"]
    assert len(secret) >= 40
    assert attacked.served.client().get("/v1/runs", headers=chosen).status_code == 401
    again = attacked.served.client().post("/v1/session", json={"token": attacked.served.tokens["alice"]})
    assert again.cookies["leadline_session"] != secret


def test_two_cookies_or_tokens_are_no_way_around(attacked: Target) -> None:
    client, bob = browser(attacked), browser(attacked, "bob")
    mine, other = client.cookies["leadline_session"], bob.cookies["leadline_session"]
    for cookie in (
        f"leadline_session=x; leadline_session={mine}",
        f"leadline_session={other}; LEADLINE_SESSION={mine}",
    ):
        reply = attacked.served.client().get(f"/v1/runs/{attacked.run}", headers={"Cookie": cookie})
        assert reply.status_code in (200, 401, 404)  # one of the two; never both, and never an error
    token = attacked.served.tokens["alice"]
    twice = [("Authorization", f"Bearer {token}"), ("Authorization", "Bearer x")]
    assert attacked.served.client().get("/v1/runs", headers=twice).status_code == 401
    with_wrong = client.get("/v1/runs", headers={"Authorization": "Bearer leadline_wrong"})
    assert with_wrong.status_code == 401


def test_every_reply_protects_its_reader(attacked: Target) -> None:
    for route in attacked.routes:
        if route.method != "GET":
            continue
        headers = attacked.send("GET", route.at(**attacked.values)).headers
        policy = headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff", route
        assert "frame-ancestors" in policy, route
        assert "default-src 'none'" in policy, route
        assert "unsafe-eval" not in policy, route
        assert {"access-control-allow-origin", "server"}.isdisjoint(headers), route
        assert headers["cache-control"] == "no-store" or not route.path.startswith("/v1/"), route
        if "unsafe-inline" in policy:  # files of runs: styles only, in a sandbox
            assert "sandbox" in policy, route
            assert "script-src" not in policy, route
