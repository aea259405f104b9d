"""Messages that a run has ended or waits for an answer: requests as Standard Webhooks describes them, and mail.

The queue's database has what is due, so that no message is lost with a server. One that was on its way then is sent
again, with the same id.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import smtplib
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable
from contextlib import suppress
from email.message import EmailMessage
from email.utils import formatdate
from typing import Any
from urllib.parse import urlsplit

import httpx

from leadline.display import one_line
from leadline.errors import Denied, LeadlineError, UsageError
from leadline.events import utc_now
from leadline.http import default_certificates, make_client
from leadline_plugins.fetch.guard import Blocked, Guard, checked
from leadline_plugins.fetch.transport import GuardedTransport
from leadline_server import logs
from leadline_server.active_runs import ActiveRuns
from leadline_server.metrics import ServerMetrics
from leadline_server.problems import Problem
from leadline_server.queue import Notification, QueueUnavailable
from leadline_server.requests import NewRun
from leadline_server.sign_in import AccessSettings, MailSettings
from leadline_server.views import RunView

log = logging.getLogger("leadline.server")
# Messages that are sent at the same time, and seconds that each may take.
AT_ONCE, TIMEOUT = 8, 10.0
# Seconds until each further attempt.
PAUSES = (5.0, 60.0, 600.0, 3_600.0)
# Seconds between two looks for messages that are due, and those in which many changes are seen together.
_LOOK, _TOGETHER = 2.0, 0.1
# A receiver that says so wants no more messages.
_GONE = 410


class _Refused(Exception):
    """The receiver will not take the message later either."""


class Notifications:
    """The messages of a server. Use it on one event loop. Raises `UsageError` for wrong settings."""

    def __init__(
        self,
        active: ActiveRuns,
        metrics: ServerMetrics,
        view: Callable[[str, str | None], Awaitable[RunView]],
        access: AccessSettings,
        url: str,
        key: Callable[[], bytes],
    ) -> None:
        self._active, self._metrics, self._view, self._url, self._key = active, metrics, view, url.rstrip("/"), key
        self.webhooks, self.mail = access.webhooks is not None, access.mail
        try:
            self._guard = Guard(map(checked, access.webhooks.allow if access.webhooks else ()))
        except ValueError as error:
            raise UsageError(f"--access: webhooks.allow: {error}") from None
        self._slots = asyncio.Semaphore(AT_ONCE)

    def targets(self, body: NewRun, address: str) -> list[str]:
        """Return where the messages of an order of a user with this address go. Raises `Problem`."""
        mail = [f"mailto:{address}"] if body.mail else []
        if body.mail and not (self.mail and address):
            what = "no address of yours is known" if self.mail else "this server sends none"
            raise Problem(403, "mail_not_allowed", f"mail: {what}", "ask the operator of the server")
        if not body.webhook:
            return mail
        if not self.webhooks:
            hint = "the operator allows them with [webhooks] in the file of --access"
            raise Problem(403, "webhook_not_allowed", "webhook: this server sends none", hint)
        try:
            return [*mail, str(self._guard.url(body.webhook))]
        except Blocked as error:
            hint = "that setting is the operator's, under [webhooks]"
            raise Problem(422, "webhook_refused", f"webhook: {error}", hint) from None

    def secret(self, principal: str | None) -> str:
        """Return the secret that verifies messages to a user."""
        return f"whsec_{b64encode(self._key_of(principal)).decode()}"

    def _key_of(self, principal: str | None) -> bytes:
        return hmac.digest(self._key(), (principal or "").encode(), "sha256")

    async def follow(self) -> None:
        """Send what is due until this is cancelled."""
        if not self.webhooks and not self.mail:
            return
        async with (
            make_client(transport=GuardedTransport(self._guard), timeout=TIMEOUT) as http,
            asyncio.TaskGroup() as tasks,
        ):
            sending: dict[tuple[str, str], asyncio.Task[None]] = {}
            while True:
                version = self._active.version
                sending = {key: task for key, task in sending.items() if not task.done()}
                with suppress(QueueUnavailable):
                    listed = await asyncio.to_thread(self._active.queue.notifications)
                    if listed:  # `_view` looks there, and must not see less than the queue
                        await self._active.refresh()
                    for due in listed:
                        if (key := (due.run_id, due.target)) not in sending:
                            sending[key] = tasks.create_task(self._tell(due, http))
                await asyncio.sleep(_TOGETHER)
                await self._active.changed(version, _LOOK)

    async def _tell(self, due: Notification, http: httpx.AsyncClient) -> None:
        reason, is_final = "", True
        try:
            async with self._slots:
                view = await self._view(due.run_id, due.principal)
                if view.status in ("pending", "running"):  # it is between two workers
                    return
                if not await asyncio.to_thread(self._active.queue.begin_notification, due, 3 * TIMEOUT):
                    return
                is_mail = due.target.startswith("mailto:")
                if is_mail and self.mail:
                    await asyncio.to_thread(self._send_mail, self.mail, due, view)
                elif self.webhooks and not is_mail:
                    await self._post(due, view, http)
                else:
                    raise _Refused("the operator has turned it off")
        except (_Refused, Denied, Problem) as error:
            reason = str(error)
        except (LeadlineError, httpx.HTTPError, OSError) as error:
            reason, is_final = str(error) or type(error).__name__, due.attempts >= len(PAUSES)
        except Exception:
            log.exception("message of run %s", due.run_id)
            reason = "the server made an error"
        with suppress(QueueUnavailable):  # it is sent again
            await asyncio.to_thread(self._active.queue.notified, due, None if is_final else PAUSES[due.attempts])
        # An address may contain a secret.
        about = {"run_id": due.run_id, "user": due.principal, "host": urlsplit(due.target).hostname}
        name = "webhook" if about["host"] else "mail"
        if not reason:
            logs.write(log, f"{name} sent", attempts=due.attempts + 1, **about)
        elif not due.attempts:
            logs.write(log, f"{name} failed", logging.WARNING, reason=reason, is_tried_again=not is_final, **about)
        if is_final:
            self._metrics.add_notification("failed" if reason else "sent")

    async def _post(self, due: Notification, view: RunView, http: httpx.AsyncClient) -> None:
        """Send a message; nothing of the reply but its status is read. Raises `_Refused` or what prevents it."""
        data = {"run_id": view.run_id, "status": view.status, "question": view.question, "url": self._link(view)}
        kind = "run.waiting" if view.status == "waiting" else "run.ended"
        when = (view.ended or utc_now()).isoformat()
        body = json.dumps({"type": kind, "timestamp": when, "data": data}, ensure_ascii=False).encode()
        name, now = f"{due.run_id}-{due.event}", str(int(time.time()))
        signature = hmac.digest(self._key_of(due.principal), f"{name}.{now}.".encode() + body, "sha256")
        headers = {
            "content-type": "application/json",
            "webhook-id": name,
            "webhook-timestamp": now,
            "webhook-signature": f"v1,{b64encode(signature).decode()}",
        }
        async with asyncio.timeout(TIMEOUT), http.stream("POST", due.target, content=body, headers=headers) as reply:
            status = reply.status_code
        if status == _GONE or 300 <= status < 400:
            raise _Refused(f"the receiver answered {status}")
        if not 200 <= status < 300:
            raise OSError(f"the receiver answered {status}")

    def _link(self, view: RunView) -> str:
        return f"{self._url}/runs/{view.run_id}"

    def _send_mail(self, mail: MailSettings, due: Notification, view: RunView) -> None:
        """Hand mail to the SMTP server. Raises `OSError`."""
        message = EmailMessage()
        message["From"], message["To"] = mail.sender, due.target.removeprefix("mailto:")
        ends = "asks you" if view.status == "waiting" else f"is {view.status}"
        message["Subject"] = f"Your question {ends}: {one_line(view.name)[:100]}"
        message["Date"], message["Auto-Submitted"] = formatdate(), "auto-generated"
        message["Message-ID"] = f"<{due.run_id}-{due.event}@{urlsplit(self._url).hostname}>"
        message.set_content(f"{view.question}\n\n{self._link(view)}\n")
        where: Any = {"host": mail.host, "port": mail.port, "timeout": TIMEOUT}
        context = default_certificates() if mail.security != "none" else None
        with smtplib.SMTP_SSL(**where, context=context) if mail.security == "tls" else smtplib.SMTP(**where) as smtp:
            if mail.security == "starttls":
                smtp.starttls(context=context)
            if mail.user:
                smtp.login(mail.user, mail.password)
            smtp.send_message(message)
