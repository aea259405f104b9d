"""Messages that a run has ended or waits, at a real receiver on loopback."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import re
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
import trustme
from tests.server.conftest import PATIENCE, QUESTION, events, finish, order, running

from leadline.errors import UsageError
from leadline_server import notifications
from leadline_server.notifications import Notifications
from leadline_server.sign_in import AccessSettings, WebhookSettings, read_access
from leadline_server.store import Store


@dataclass
class Receiver:
    """A server that keeps what it gets, and answers with these statuses in turn, the last one again and again."""

    url: str = ""
    statuses: list[int] = field(default_factory=lambda: [204])
    seconds: float = 0.0
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    at_once: int = 0
    most: int = 0

    def access(self) -> AccessSettings:
        return AccessSettings.model_validate({"webhooks": {"allow": [self.url.removeprefix("http://")]}})

    def wait(self, count: int) -> list[dict[str, Any]]:
        """Return the messages when there are so many."""
        until(lambda: len(self.got) >= count)
        return [json.loads(body) for _, _, body in self.got]


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    known, lock = Receiver(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            with lock:
                known.at_once += 1
                known.most = max(known.most, known.at_once)
                status = known.statuses.pop(0) if len(known.statuses) > 1 else known.statuses[0]
            body = self.rfile.read(int(self.headers["content-length"]))
            known.got.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            time.sleep(known.seconds)
            with lock:
                known.at_once -= 1
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"{known.url}/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign] # a sender that did not wait
        known.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield known
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "PAUSES", (0.0, 0.0, 0.0, 0.0))
    monkeypatch.setattr(notifications, "_LOOK", 0.1)


def verified(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """Verify a message as the specification of Standard Webhooks says."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    is_fresh = abs(time.time() - int(headers["webhook-timestamp"])) < 300
    return is_fresh and hmac.compare_digest(expected, headers["webhook-signature"])


def test_a_webhook_gets_one_signed_message_when_a_run_ends(tmp_path: Path, receiver: Receiver) -> None:
    with running(tmp_path, "alice", "bob", access=receiver.access()) as served:
        secrets = {}
        for user in ("alice", "bob"):
            http = served.client(user)
            reply = http.post("/v1/runs", json={"question": QUESTION, "webhook": f"{receiver.url}/hook?x=1"}).json()
            secrets[user] = reply["webhook_secret"]
            finish(http, reply["id"])
            message = receiver.wait(len(secrets))[-1]
            path, headers, body = receiver.got[-1]
            assert (path, headers["content-type"], message["type"]) == ("/hook?x=1", "application/json", "run.ended")
            url = f"/runs/{reply['id']}"
            assert message["data"] == {"run_id": reply["id"], "status": "complete", "question": QUESTION, "url": url}
            assert verified(secrets[user], headers, body)
            assert not verified(secrets[user], headers, body.replace(b"complete", b"failed"))
        assert not verified(secrets["alice"], headers, body)
        assert served.client("alice").post("/v1/runs", json={"question": QUESTION}).json()["webhook_secret"] == ""
        time.sleep(0.3)  # two more looks
        assert len(receiver.got) == 2


def test_a_webhook_is_told_of_a_question_and_then_of_the_end(tmp_path: Path, receiver: Receiver) -> None:
    with running(tmp_path, access=receiver.access(), clarify__mode="ask") as served:
        http = served.client()
        run = order(http, "what is it", webhook=receiver.url)
        [asked] = receiver.wait(1)
        assert (asked["type"], asked["data"]["status"]) == ("run.waiting", "waiting")
        [question] = http.get(f"/v1/runs/{run}").json()["questions"]
        answer = {"question_id": question["id"], "content": {"answer": QUESTION}}
        assert http.post(f"/v1/runs/{run}/answers", json=answer).json() == {"ok": True}
        finish(http, run)
        assert receiver.wait(2)[-1]["data"]["status"] == "complete"
        assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 2


def test_a_run_that_never_began_is_told_too(tmp_path: Path, receiver: Receiver) -> None:
    with running(tmp_path, access=receiver.access(), worker_places=1) as served, served.gate.closed():
        http = served.client()
        events(http, order(http), until="run.started")
        run = order(http, webhook=receiver.url)
        http.post(f"/v1/runs/{run}/cancel")
        assert receiver.wait(1)[0]["data"]["status"] == "cancelled"


def test_what_fails_is_tried_again_with_the_same_id_and_logged_once_without_the_address(
    tmp_path: Path, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "leadline")
    receiver.statuses = [500, 503, 200]
    with running(tmp_path, access=receiver.access()) as served:
        order(served.client(), webhook=f"{receiver.url}/path-with-a-key")
        receiver.wait(3)
        until(lambda: "webhook sent" in caplog.text)
    records = [record for record in caplog.records if "webhook" in record.getMessage()]
    assert [record.getMessage() for record in records] == ["webhook failed", "webhook sent"]
    assert "500" in records[0].fields["reason"]  # type: ignore[attr-defined]
    assert len({(headers["webhook-id"], body) for _, headers, body in receiver.got}) == 1
    assert "path-with-a-key" not in str([record.__dict__ for record in caplog.records])


@pytest.mark.parametrize(("status", "attempts"), [(302, 1), (410, 1), (404, 5)])
def test_a_redirect_is_not_followed_and_attempts_end(
    status: int, attempts: int, tmp_path: Path, receiver: Receiver
) -> None:
    receiver.statuses = [status]
    with running(tmp_path, access=receiver.access()) as served:
        order(served.client(), webhook=receiver.url)
        until(lambda: 'leadline_notifications_total{outcome="failed"} 1' in served.client().get("/metrics").text)
    assert [path for path, _, _ in receiver.got] == ["/"] * attempts


def test_a_slow_receiver_is_left_and_holds_one_of_few_places(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "AT_ONCE", 2)
    receiver.seconds = 0.1
    with running(tmp_path, access=receiver.access()) as served:
        http = served.client()
        runs = [order(http, webhook=receiver.url) for _ in range(6)]
        assert {message["data"]["run_id"] for message in receiver.wait(6)} == {*runs}
        assert receiver.most <= 2
        monkeypatch.setattr(notifications, "TIMEOUT", 0.2)
        receiver.seconds = 1.0
        order(http, webhook=receiver.url)
        receiver.wait(8)  # the first attempt was left before its answer


def test_a_message_that_is_due_when_the_server_ends_is_sent_by_the_next_one(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(self: Notifications) -> None:
        pass

    with monkeypatch.context() as patch:
        patch.setattr(Notifications, "follow", nothing)
        with running(tmp_path, access=receiver.access()) as served:
            http = served.client()
            run = order(http, webhook=receiver.url)
            assert finish(http, run)["status"] == "complete"
    assert receiver.got == []
    with running(tmp_path, access=receiver.access()):
        assert receiver.wait(1)[0]["data"] == {
            "run_id": run,
            "status": "complete",
            "question": QUESTION,
            "url": f"/runs/{run}",
        }


def test_private_addresses_are_refused_before_a_run_begins_and_when_a_name_leads_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["10.0.0.7"]

    monkeypatch.setattr("leadline_plugins.fetch.guard.look_up", resolve)
    with running(tmp_path, access=AccessSettings(webhooks=WebhookSettings())) as served:
        http = served.client()
        for address in (
            *("http://127.0.0.1:8080/", "http://169.254.169.254/", "http://localhost/", "http://example.org:22/"),
            *("ftp://example.org/", "http://a:b@example.org/", "hook"),
        ):
            reply = http.post("/v1/runs", json={"question": QUESTION, "webhook": address})
            assert (reply.status_code, reply.json()["code"]) == (422, "webhook_refused"), address
        assert http.get("/v1/runs").json()["runs"] == []
        order(http, webhook="https://hooks.example/")
        until(lambda: 'leadline_notifications_total{outcome="failed"} 1' in http.get("/metrics").text)
    [record] = [record for record in caplog.records if record.getMessage() == "webhook failed"]
    assert "10.0.0.7 is private" in record.fields["reason"]  # type: ignore[attr-defined]


def test_a_server_sends_webhooks_only_if_its_operator_says_so(http: httpx.Client, tmp_path: Path) -> None:
    reply = http.post("/v1/runs", json={"question": QUESTION, "webhook": "https://hooks.example/"})
    assert (reply.status_code, reply.json()["code"]) == (403, "webhook_not_allowed")
    assert 'name="webhook"' not in http.get("/", headers={"Accept": "text/html"}).text
    file = tmp_path / "access.toml"
    file.write_text('[webhooks]\nallow = ["10.0.0.0/8"]\n')
    assert read_access(file, "https://research.example").webhooks == WebhookSettings(allow=("10.0.0.0/8",))
    with pytest.raises(UsageError, match="--url"):
        read_access(file, "")
    wrong = AccessSettings(webhooks=WebhookSettings(allow=("10.0.0.0/99",)))
    with pytest.raises(UsageError, match=r"webhooks\.allow"), running(tmp_path, access=wrong):
        pass


def test_the_page_has_a_field_for_a_webhook(tmp_path: Path, receiver: Receiver) -> None:
    with running(tmp_path, access=receiver.access()) as served:
        http = served.client(Origin=served.url)
        page = http.get("/").text
        token = re.search(r'name="form_token" value="([^"]+)"', page)
        assert token
        form = {"form_token": token[1], "question": QUESTION, "webhook": "http://127.0.0.1:1/"}
        refused = http.post("/runs", data=form)
        assert (refused.status_code, "Webhook: " in refused.text) == (422, True)
        assert 'value="http://127.0.0.1:1/"' in refused.text
        assert http.post("/runs", data=form | {"webhook": receiver.url}).status_code == 303
        receiver.wait(1)


class Smtp(socketserver.StreamRequestHandler):
    """A small SMTP server that keeps the commands and mails of all its clients; it offers no STARTTLS."""

    commands: ClassVar[list[str]]
    mails: ClassVar[list[EmailMessage]]
    context: ClassVar[ssl.SSLContext | None]

    def setup(self) -> None:
        if self.context:
            self.request = self.context.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self) -> None:
        super().finish()
        self.request.close()

    def handle(self) -> None:
        self.wfile.write(b"220 mail.example\r\n")
        while line := self.rfile.readline().decode().strip():
            self.commands.append(line)
            replies = {
                "EHLO": "250-mail.example\r\n250 AUTH PLAIN",
                "AUTH": "235 ok",
                "DATA": "354 go on",
                "QUIT": "221 ok",
            }
            self.wfile.write(f"{replies.get(line[:4].upper(), '250 ok')}\r\n".encode())
            if line.upper() == "DATA":
                lines = list(iter(self.rfile.readline, b".\r\n"))
                self.mails.append(message_from_bytes(b"".join(lines), policy=default))
                self.wfile.write(b"250 ok\r\n")


@pytest.fixture
def smtp(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[type[Smtp], int]]:
    handler = type("Kept", (Smtp,), {"commands": [], "mails": [], "context": None})
    monkeypatch.setenv("SMTP_PASSWORD", "a secret")
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign] # a client that did not trust it
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield handler, server.server_address[1]
        server.shutdown()
        thread.join()


def mailing(port: int, **more: Any) -> AccessSettings:
    mail = {"host": "localhost", "port": port, "sender": "leadline@example.org", "user": "leadline"} | more
    return AccessSettings.model_validate({"mail": mail})


def test_mail_goes_to_the_address_of_the_user_and_to_no_other(
    tmp_path: Path, smtp: tuple[type[Smtp], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    (kept, port), authority = smtp, trustme.CA()
    kept.context, trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("localhost").configure_cert(kept.context)
    authority.configure_trust(trusted)
    monkeypatch.setattr(notifications, "default_certificates", lambda: trusted)
    with running(tmp_path, "alice", "bob", access=mailing(port, security="tls")) as served:
        with closing(Store(tmp_path / "runs")) as store:
            store.set_address("alice", "alice@example.org")
        http = served.client("alice")
        run = order(http, mail=True)
        until(lambda: kept.mails)
        [mail] = kept.mails
        assert (mail["To"], mail["From"]) == ("alice@example.org", "leadline@example.org")
        assert str(mail["Subject"]).startswith("Your question is complete: How deep")
        assert mail.get_content().split() == [*QUESTION.split(), f"/runs/{run}"]
        assert "AUTH PLAIN " + base64.b64encode(b"\0leadline\0a secret").decode() in kept.commands
        for user, body, status in (("alice", {"mail": "eve@example.org"}, 422), ("bob", {"mail": True}, 403)):
            assert served.client(user).post("/v1/runs", json={"question": QUESTION} | body).status_code == status
        assert "alice@example.org" in http.get("/").text


def test_mail_that_was_turned_off_is_given_up_at_once(
    tmp_path: Path,
    smtp: tuple[type[Smtp], int],
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def nothing(self: Notifications) -> None:
        pass

    with monkeypatch.context() as patch:
        patch.setattr(Notifications, "follow", nothing)
        with running(tmp_path, "alice", access=mailing(smtp[1])) as served:
            with closing(Store(tmp_path / "runs")) as store:
                store.set_address("alice", "alice@example.org")
            http = served.client("alice")
            finish(http, order(http, mail=True))
    with running(tmp_path, access=receiver.access()), caplog.at_level(logging.WARNING, "leadline.server"):
        until(lambda: "mail failed" in caplog.messages)
    [failed] = [record for record in caplog.records if record.message == "mail failed"]
    assert "turned it off" in str(vars(failed))


def test_no_password_is_sent_to_a_server_without_starttls(
    tmp_path: Path, smtp: tuple[type[Smtp], int], caplog: pytest.LogCaptureFixture
) -> None:
    kept, port = smtp
    with running(tmp_path, "alice", access=mailing(port)) as served:
        with closing(Store(tmp_path / "runs")) as store:
            store.set_address("alice", "alice@example.org")
        order(served.client("alice"), mail=True)
        until(lambda: "mail failed" in caplog.text)
    assert {command[:4].upper() for command in kept.commands} <= {"EHLO", "QUIT", "RSET"}


def test_settings_of_mail_that_cannot_work_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "access.toml"
    file.write_text('[mail]\nhost = "mail.example"\nsender = "leadline@example.org"\nuser = "leadline"\n')
    monkeypatch.delenv("SMTP_PASSWORD", raising=False)
    with pytest.raises(UsageError, match="--url"):
        read_access(file, "")
    with pytest.raises(UsageError, match="SMTP_PASSWORD"):
        read_access(file, "https://research.example")
    with closing(Store(tmp_path / "runs")) as store:
        for address in ("", "ada", "ada@example.org\nBcc: eve@example.org", "Ada <ada@example.org>", "a@b,c@d"):
            with pytest.raises(UsageError):
                store.set_address("ada", address)
        assert store.address("ada") == ""
