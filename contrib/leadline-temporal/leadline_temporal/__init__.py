"""A dispatcher of Leadline on Temporal, for workers on several machines.

Temporal queues orders, finds dead workers by their heartbeats, tries again elsewhere, and takes turns among users. It
is given ids only: orders, quotas and runs are in `runs.database`.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from leadline.contracts import CarryOut, Check
from leadline.plugin import Field, PluginSettings, SecretStr, Submission, dispatcher

log = logging.getLogger("leadline.temporal")
# Seconds that Temporal has for a request, and between two attempts to reach it.
_TIMEOUT, _PAUSE = timedelta(seconds=5), 1.0


class TemporalSettings(PluginSettings):
    """Settings of the dispatcher `temporal`."""

    authority = {"address": "a service that chooses the runs that are executed"}

    address: str = Field("127.0.0.1:7233", description="Address of the Temporal server, HOST:PORT.")
    namespace: str = Field("default", description="Its namespace.")
    task_queue: str = Field("leadline", description="The task queue of the workers; another one for each database.")
    api_key: SecretStr = Field(SecretStr(""), description="API key, of Temporal Cloud.")
    tls: bool = Field(False, description="Encrypt the connection; with an API key or files it always is.")
    ca: Path | None = Field(None, description="PEM file of the authority that signed the server's certificate.")
    certificate: Path | None = Field(None, description="PEM file of the client's certificate.")
    key: Path | None = Field(None, description="PEM file of its key.")


@dispatcher(
    "Runs on several machines, by Temporal",
    settings=TemporalSettings,
    env={"address": "TEMPORAL_ADDRESS", "namespace": "TEMPORAL_NAMESPACE", "api_key": "TEMPORAL_API_KEY"},
)
class Temporal:
    """One workflow for an order, with one activity for each attempt."""

    def __init__(self, settings: TemporalSettings) -> None:
        self._settings = settings
        self._lifetime: timedelta | None = None

    async def __aenter__(self) -> Temporal:
        from leadline_temporal.engine import connect

        self._client = await connect(self._settings, lazy=True)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave the connection to its last user."""

    def _id(self, order: Submission) -> str:
        return f"{self._settings.task_queue}.{order.run_id}.{order.number}"

    async def submit(self, order: Submission, /) -> None:
        """Start a workflow; one that runs already stays."""
        from temporalio.common import Priority, WorkflowIDConflictPolicy

        # Users are told apart by Temporal, not named.
        user = sha256(order.principal.encode()).hexdigest()[:16]
        await self._client.start_workflow(
            "leadline.run",
            args=[order.run_id, order.number],
            id=self._id(order),
            task_queue=self._settings.task_queue,
            priority=Priority(priority_key=max(1, min(5, 3 - order.priority)), fairness_key=user),
            execution_timeout=self._lifetime,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            rpc_timeout=_TIMEOUT,
        )

    async def cancel(self, order: Submission, /) -> None:
        """Cancel a workflow. Raises `RPCError` if there is none."""
        await self._client.get_workflow_handle(self._id(order)).cancel(rpc_timeout=_TIMEOUT)

    async def work(self, carry_out: CarryOut, /, *, slots: int, closing: asyncio.Event) -> None:
        """Work until `closing`; a server that is away, or that loses its workers, is tried again."""
        from leadline_temporal.engine import connect, worker_of

        is_away = False
        while not closing.is_set():
            try:
                async with worker_of(await connect(self._settings), self._settings.task_queue, carry_out, slots):
                    is_away = False
                    await closing.wait()
            except Exception as error:  # noqa: BLE001 - of the SDK or the server: nothing may end a worker
                if not is_away:
                    address = self._settings.address
                    log.warning("Temporal at %s does not answer, or lost this worker: %s", address, error)
                is_away = True
                with suppress(TimeoutError):
                    async with asyncio.timeout(_PAUSE):
                        await closing.wait()

    async def check(self) -> list[Check]:
        """Return what `leadline doctor` tells. Raises `RPCError`, `RuntimeError` and `TimeoutError`."""
        from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest

        name = self._settings.namespace
        request = DescribeNamespaceRequest(namespace=name)
        await self._client.workflow_service.describe_namespace(request, timeout=_TIMEOUT)
        server = Check("dispatcher", "ok", f"Temporal at {self._settings.address}, namespace {name}")
        if await self.keeps_turns():
            return [server, Check("turns", "ok", "users take turns, as 25 small workflows show")]
        lacks = "a user with many runs goes before others: set matching.enableFairness, and one partition"
        return [server, Check("turns", "note", lacks)]

    async def keeps_turns(self) -> bool:
        """Return whether the server takes turns among users, by trying: it must be told to (see the README).

        Raises `TimeoutError`, and the errors of a server that does not answer.
        """
        tried = Temporal(self._settings.model_copy(update={"task_queue": f"leadline-turns-{uuid4().hex}"}))
        tried._client, tried._lifetime = self._client, timedelta(minutes=2)
        begun, closing = list[str](), asyncio.Event()

        async def carry_out(order: Submission, attempt: int) -> None:
            begun.append(order.run_id)
            await asyncio.sleep(0 if len(begun) > 1 else 3.0)  # until the others wait
            if len(begun) == 1 + 20 + 4:
                asyncio.get_running_loop().call_later(1.0, closing.set)  # the workflows end, too

        for user, count in (("first", 1), ("many", 20), ("few", 4)):
            for number in range(count):
                await tried.submit(Submission(f"{user}-{uuid4().hex}", number, user))
        async with asyncio.timeout(60):
            await tried.work(carry_out, slots=1, closing=closing)
        return max(turn for turn, run in enumerate(begun) if run.startswith("few")) <= 2 * 4 + 2
