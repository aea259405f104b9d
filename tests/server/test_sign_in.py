"""Logins at a real provider of OpenID Connect, and users whom a proxy names."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey
from tests.server.conftest import QUESTION, Served, connected, running

from leadline.errors import UsageError
from leadline_server.problems import Problem
from leadline_server.sign_in import AccessSettings, OidcSettings, Provider, read_access
from leadline_server.store import Store, Token

MODULES = Path(__file__).parents[2] / "node_modules"
SCRIPT = Path(__file__).with_name("oidc_provider.mjs")
ROLES = {"admin": ["leads"], "user": ["staff"]}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def provider(port: int, redirect: str) -> Iterator[None]:
    """Run the provider; each start has new keys."""
    node = shutil.which("node")
    if node is None or not (MODULES / "oidc-provider").is_dir():
        pytest.skip("no provider of OpenID Connect: install node, then `npm install --no-save oidc-provider`")
    command = [node, str(SCRIPT), str(MODULES), str(port), redirect]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        try:
            assert process.stdout.readline() == "ready\n"
            yield
        finally:
            process.kill()


def at_provider(address: str, user: str) -> str:
    """Log in at the provider as a person does, and return the address to which it sends the browser back."""
    with connected("", follow_redirects=False) as browser:
        for _ in range(12):
            reply = browser.get(address)
            if reply.status_code == 200:
                form = re.search(r'action="([^"]+)"', reply.text)
                prompt = re.search(r'name="prompt" value="(\w+)"', reply.text)
                assert form
                assert prompt
                data = {"prompt": prompt[1], "login": user, "password": "x"}
                reply = browser.post(str(httpx.URL(address).join(form[1])), data=data)
            address = str(httpx.URL(address).join(reply.headers["location"]))
            if urlsplit(address).path == "/login/callback":
                return address
    raise AssertionError("the provider did not send the browser back")


def begin(browser: httpx.Client, target: str = "/runs") -> str:
    reply = browser.get("/login/start", params={"next": target})
    assert reply.status_code == 303
    return str(reply.headers["location"])


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a provider, whose port is in the address `issuer` of its settings."""
    folder, port, other = tmp_path_factory.mktemp("signed"), free_port(), free_port()
    (folder / "secret").write_text("a secret & more\n")
    oidc = {"issuer": f"http://127.0.0.1:{other}", "client_id": "leadline", "client_secret_file": folder / "secret"}
    access = AccessSettings.model_validate({"oidc": oidc, "roles": ROLES})
    redirect = f"http://127.0.0.1:{port}/login/callback"
    with provider(other, redirect), running(folder, "carol", port=port, access=access) as server:
        server.tokens["issuer port"] = str(other)
        yield server


def test_a_person_logs_in_at_a_provider_with_the_role_of_the_groups(signed: Served) -> None:
    for user, role in (("ada", "admin"), ("bob", "user")):
        browser = signed.client()
        before = browser.post("/v1/session", json={"token": signed.tokens["carol"]}).headers["set-cookie"]
        address = begin(browser)
        query = parse_qs(urlsplit(address).query)
        assert query["code_challenge_method"] == ["S256"]
        reply = browser.get(
            at_provider(address, user), headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        )
        assert reply.status_code == 200
        assert '<meta http-equiv="refresh" content="0; url=/runs">' in reply.text
        assert browser.get("/v1/session").json() == {"principal": user, "role": role, "models": []}
        assert browser.get("/v1/admin").status_code == (200 if role == "admin" else 403)
        old = signed.client(Cookie=before.partition(";")[0])
        assert old.get("/v1/session").status_code == 401  # no session outlives the next login of its browser
    audit = (signed.folder / "runs" / ".audit.jsonl").read_text()
    assert '"user": "ada", "by": "oidc", "role": "admin"' in audit


def test_whoever_has_no_role_does_not_come_in(signed: Served) -> None:
    browser = signed.client()
    reply = browser.get(at_provider(begin(browser), "eve"))
    assert (reply.status_code, "one of your groups has a role" in reply.text) == (403, True)
    assert browser.get("/v1/session").status_code == 401


def test_a_reply_counts_once_and_in_its_browser_only(signed: Served) -> None:
    mine, other = signed.client(), signed.client()
    back, foreign = at_provider(begin(mine), "bob"), at_provider(begin(other), "ada")
    assert mine.get(foreign).status_code == 403  # a login that somebody else began and lured this browser to finish
    assert other.get(foreign).status_code == 403  # it was tried, and counts no more
    assert mine.get(f"{back}&state=x").status_code == 403
    assert mine.get(back).status_code == 200
    cookies = dict(mine.cookies)
    assert mine.get(back).status_code == 403
    assert dict(mine.cookies) == cookies


@pytest.mark.parametrize("change", ["iss=http%3A%2F%2Fevil.example", "code=x", "error=access_denied"])
def test_a_reply_that_was_changed_is_refused(signed: Served, change: str) -> None:
    browser = signed.client()
    back = httpx.URL(at_provider(begin(browser), "bob"))
    name = change.partition("=")[0]
    params = dict(back.params) | {name: httpx.QueryParams(change)[name]}
    if name == "error":
        del params["code"]
    assert browser.get(str(back.copy_with(params=params))).status_code == 403
    assert browser.get("/v1/session").status_code == 401


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "/\tx", "javascript:0"]
)
def test_a_login_leads_nowhere_else(signed: Served, target: str) -> None:
    browser = signed.client()
    assert 'content="0; url=/">' in browser.get(at_provider(begin(browser, target), "bob")).text


@pytest.mark.slow
def test_new_keys_of_the_provider_are_read(tmp_path: Path) -> None:
    port, other = free_port(), free_port()
    (tmp_path / "secret").write_text("a secret & more")
    oidc = {"issuer": f"http://127.0.0.1:{other}", "client_id": "leadline", "client_secret_file": tmp_path / "secret"}
    oidc |= {"user": "preferred_username"}
    redirect = f"http://127.0.0.1:{port}/login/callback"
    with running(tmp_path, port=port, access=AccessSettings.model_validate({"oidc": oidc})) as server:
        for _ in range(2):
            with provider(other, redirect):
                browser = server.client()
                assert browser.get(at_provider(begin(browser), "ada")).status_code == 200
                assert browser.get("/v1/session").json()["principal"] == "ADA"
        assert server.client().get("/login/start").status_code in (303, 502)


@pytest.mark.parametrize(("is_verified", "address"), [(True, "ada@example.org"), (False, ""), (None, "")])
async def test_the_provider_tells_the_address_for_mail_only_if_it_has_verified_it(
    is_verified: object, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def told(self: Provider, *_: object) -> Any:
        return {"sub": "ada", "groups": [], "email": "ada@example.org", "email_verified": is_verified}

    async def discovered(self: Provider) -> Any:
        return {"authorization_endpoint": ISSUER}, None, False

    for name, function in (("_tokens", told), ("_claims", told), ("_discover", discovered)):
        monkeypatch.setattr(Provider, name, function)
    settings = OidcSettings(issuer=ISSUER, client_id="leadline", scopes=("openid", "email"))
    provider = Provider(settings, "https://research.example")
    target, secret = await provider.begin("/")
    state = parse_qs(urlsplit(target).query)["state"][0]
    known = await provider.finish([("state", state), ("code", "c"), ("iss", ISSUER)], secret)
    assert (known.user, known.address) == ("ada", address)


# --- statements of a provider ----------------------------------------------------------------------------------------

ISSUER = "https://id.example"


def claims(**changed: object) -> dict[str, object]:
    now = int(time.time())
    known = {"iss": ISSUER, "aud": "leadline", "sub": "ada", "nonce": "n", "iat": now, "exp": now + 300} | changed
    return {key: value for key, value in known.items() if value is not None}


KEY = RSAKey.generate_key(parameters={"kid": "1"})
RS256 = {"alg": "RS256", "kid": "1"}


def none_signed() -> str:
    head, body = (urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": "none"}, claims()))
    return f"{head.decode()}.{body.decode()}."


@pytest.mark.parametrize(
    "token",
    [
        none_signed(),
        jwt.encode(
            {"alg": "HS256", "kid": "1"},
            claims(),
            OctKey.import_key("a secret that both sides know, of 256 bits"),
            algorithms=["HS256"],
        ),
        jwt.encode(RS256, claims(), RSAKey.generate_key(parameters={"kid": "1"})),
        jwt.encode({"alg": "RS256", "kid": "2"}, claims(), KEY),
        jwt.encode(RS256, claims(iss="https://id.example/"), KEY),
        jwt.encode(RS256, claims(aud="another"), KEY),
        jwt.encode(RS256, claims(aud=["leadline", "another"]), KEY),
        jwt.encode(RS256, claims(azp="another"), KEY),
        jwt.encode(RS256, claims(nonce="of another login"), KEY),
        jwt.encode(RS256, claims(exp=int(time.time()) - 90), KEY),
        jwt.encode(RS256, claims(iat=int(time.time()) + 600), KEY),
        *(jwt.encode(RS256, claims(**{name: None}), KEY) for name in ("sub", "nonce", "exp", "iat", "aud", "iss")),
        jwt.encode(RS256, claims(), KEY)[:-8],
        "",
    ],
)
async def test_a_statement_that_the_provider_did_not_make_for_this_login_is_refused(token: str) -> None:
    with pytest.raises(Problem, match="the provider's statement"):
        await stated(token)


async def test_clocks_may_differ_a_little() -> None:
    now = int(time.time())
    for changed in ({"exp": now - 30}, {"iat": now + 30}, {"aud": ["leadline"]}, {"azp": "leadline"}):
        assert (await stated(jwt.encode(RS256, claims(**changed), KEY)))["sub"] == "ada"


async def stated(token: str) -> dict[str, Any]:
    provider = Provider(OidcSettings(issuer=ISSUER, client_id="leadline"), "https://research.example")
    keys = KeySet.import_key_set({"keys": [KEY.as_dict(private=False)]})

    async def discovered(*, anew: bool = False) -> tuple[dict[str, Any], Any, bool]:
        return {}, keys, anew

    provider._discover = discovered  # type: ignore[method-assign]
    return await provider._claims(token, "n")


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[proxi]", "did you mean 'proxy'"),
        ('[proxy]\naddresses = ["10.0.0.1"]\nuser_heder = "X"', "did you mean 'user_header'"),
        ("[proxy]\naddresses = []", "proxy.addresses: "),
        ('[proxy]\naddresses = ["0.0.0.0/0"]', "everybody"),
        ('[proxy]\naddresses = ["nginx"]', "proxy.addresses.0: "),
        ('[proxy]\naddresses = ["10.0.0.1"]\nuser_header = "Remote_User"', "proxy.user_header: "),
        ('[proxy]\naddresses = ["10.0.0.1"]\nuser_header = "Cookie"', "two headers"),
        ('[proxy]\naddresses = ["10.0.0.1"]\n[roles]\nadmin = ["leads"]', "proxy.groups_header"),
        ('[roles]\nuser = ["*"]', "neither is set"),
        ("[sessions]\nhours = 2\nidle_hours = 3", "access.toml: sessions.idle_hours"),
        ('[models.roles]\nreader = ["openai:x"]', "access.toml: models.roles: only admin and user"),
        ('[oidc]\nissuer = "https://id.example"\nclient_id = "x"', "needs --url"),
        ('[oidc]\nissuer = "http://id.example"\nclient_id = "x"', "needs oidc.issuer"),
        ('[oidc]\nissuer = "https://id.example"\nclient_id = "x"\nscopes = ["profile"]', '"openid" must'),
        ('[oidc]\nissuer = "https://id.example"\nclient_id = "x"\nclient_secret_file = "/nowhere"', "cannot read"),
        ("[oidc", "--access"),
    ],
)
def test_settings_that_would_not_hold_are_refused_at_the_start(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "access.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=re.escape(message)):
        read_access(file, "")


def test_the_settings_of_the_guide_hold(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "sign-in.md").read_text(encoding="utf-8")
    (tmp_path / "secret").write_text("secret")
    blocks = "".join(re.findall(r"^```toml\n(.*?)^```", guide, re.MULTILINE | re.DOTALL))
    file = tmp_path / "access.toml"
    file.write_text(blocks.replace("/etc/leadline/oidc-secret", str(tmp_path / "secret")))
    settings = read_access(file, "https://research.example")
    assert settings.oidc
    for table in ("oidc", "proxy", "sessions", "roles"):  # the guide names every setting
        model = type(getattr(settings, table))
        assert {name for name in model.model_fields if f"{name} = " in blocks} == {*model.model_fields}
    assert settings.oidc == OidcSettings.model_validate(
        {"issuer": settings.oidc.issuer, "client_id": "leadline", "client_secret_file": tmp_path / "secret"}
    )  # what it calls a default is one


# --- proxies ---------------------------------------------------------------------------------------------------------

PROXY = {"addresses": ["127.0.0.0/8"], "user_header": "Remote-User", "groups_header": "Remote-Groups"}


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    access = AccessSettings.model_validate({"proxy": PROXY, "roles": {**ROLES, "reader": ["guests"]}})
    with running(tmp_path_factory.mktemp("proxied"), "carol", access=access) as server:
        yield server


@pytest.mark.parametrize(
    ("groups", "role"), [("staff, leads", "admin"), ("staff", "user"), ("guests", "reader"), ("leadsx", ""), ("", "")]
)
def test_a_proxy_names_the_user_and_the_groups(proxied: Served, groups: str, role: str) -> None:
    headers = [(b"Remote-User", "jörg".encode()), (b"Remote-Groups", groups.encode())]
    reply = proxied.client().get("/v1/session", headers=headers)
    assert reply.status_code == (200 if role else 403)
    if role:
        assert reply.json() == {"principal": "jörg", "role": role, "models": []}


@pytest.mark.parametrize(
    "headers",
    [
        [("Remote-User", "ada"), ("Remote-User", "bob")],
        [("Remote-User", "ada"), ("Remote-Groups", "guests"), ("Remote-Groups", "leads")],
        [("Remote-User", "ada,bob"), ("Remote-Groups", "leads")],
        [("Remote-User", "a" * 201), ("Remote-Groups", "leads")],
        [("Remote-User", "a\tb"), ("Remote-Groups", "leads")],
        [("Remote-User", b"ad\xc3"), ("Remote-Groups", "leads")],
        [("Remote-Groups", "leads")],
        [("Remote_User", "ada"), ("Remote_Groups", "leads")],
        [("Remote-User", ""), ("Remote-Groups", "leads")],
    ],
)
def test_a_header_that_does_not_name_one_user_lets_nobody_in(proxied: Served, headers: Any) -> None:
    with connected(proxied.url) as http:
        sent = [(name.encode(), text if isinstance(text, bytes) else text.encode()) for name, text in headers]
        assert http.get("/v1/session", headers=sent).status_code in (401, 403)


def test_a_proxied_user_needs_an_origin_to_change_anything_and_a_token_counts_more(proxied: Served) -> None:
    ada = proxied.client(**{"Remote-User": "ada", "Remote-Groups": "staff"})
    body = {"question": QUESTION}
    assert ada.post("/v1/runs", json=body).json()["code"] == "cross_origin"
    assert ada.post("/v1/runs", json=body, headers={"Origin": "https://evil.example"}).status_code == 403
    assert ada.post("/v1/runs", json=body, headers={"Origin": proxied.url}).status_code == 202
    token = {"Authorization": f"Bearer {proxied.tokens['carol']}"}
    assert ada.get("/v1/session", headers=token).json()["principal"] == "carol"


@pytest.mark.parametrize("path", ["/v1/session", "/healthz", "/login"])
def test_a_header_from_anybody_else_is_refused(tmp_path: Path, path: str) -> None:
    access = AccessSettings.model_validate({"proxy": {"addresses": ["10.0.0.0/8"]}})
    with running(tmp_path, access=access) as server:
        # The proxy of the environment may tell the address of a client, but does not become another one by it.
        for more in ({}, {"X-Forwarded-For": "10.0.0.1"}, {"Forwarded": "for=10.0.0.1"}):
            reply = server.client(**{"X-Forwarded-User": "ada"}, **more).get(path)
            assert (reply.status_code, reply.json()["code"]) == (403, "unknown_proxy")
        assert server.client().get("/v1/session").status_code == 401


# --- sessions --------------------------------------------------------------------------------------------------------


def test_sessions_end_after_a_while_and_when_nobody_uses_them(stores: Callable[..., Store]) -> None:
    store, now = stores(), [1_000_000.0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leadline_server.store.time.time", lambda: now[0])
        store.session_seconds, store.idle_seconds = 7_200, 1_800
        token = store.token(store.add_token("alice", "alice"))
        assert token
        idle, used = store.add_session(token), store.add_session(Token("", "ada", "reader", 0, 0, 0, b""))
        for _ in range(5):
            now[0] += 1_200
            assert store.session(used)
        assert store.session(idle) is None
        now[0] += 1_300
        assert store.session(used) is None
