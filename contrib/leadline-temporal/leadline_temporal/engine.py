"""What Temporal knows: a workflow of one activity; and the connection, and the worker that carries orders out."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import cache

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import Priority, RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, ApplicationErrorCategory, CancelledError
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
from temporalio.service import KeepAliveConfig, TLSConfig
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from leadline.contracts import CarryOut
from leadline.plugin import Submission
from leadline_temporal import TemporalSettings

# Seconds between two heartbeats, and without one until another worker is given the run.
_BEAT, _PATIENCE = timedelta(seconds=1), timedelta(seconds=15)
# A session may take this long, and a worker that ends waits for its sessions for this long.
_LONGEST = timedelta(days=7)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0


@workflow.defn(name="leadline.run")
class Order:
    """An order: its activity is attempted until it returns."""

    @workflow.run
    async def run(self, run_id: str, number: int, attempt: int = 1) -> None:
        """Have a worker carry it out. Attempts are activities of their own: later ones come before other orders."""
        while True:
            try:
                await workflow.execute_activity(
                    "leadline.session",
                    args=[run_id, number, attempt],
                    start_to_close_timeout=_LONGEST,
                    heartbeat_timeout=_PATIENCE,
                    retry_policy=RetryPolicy(maximum_attempts=1),
                    priority=Priority(priority_key=1) if attempt > 1 else Priority.default,
                )
            except ActivityError as error:
                if isinstance(error.cause, CancelledError):
                    raise
            else:
                return
            await workflow.sleep(min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(attempt - 1, 10)))
            attempt += 1
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(args=[run_id, number, attempt])


async def connect(settings: TemporalSettings, *, lazy: bool = False) -> Client:
    """Return a client; a `lazy` one connects at its first request, and cannot work."""
    ca, certificate, key = (
        path.expanduser().read_bytes() if path else None for path in (settings.ca, settings.certificate, settings.key)
    )
    files = TLSConfig(server_root_ca_cert=ca, client_cert=certificate, client_private_key=key)
    return await Client.connect(
        settings.address,
        namespace=settings.namespace,
        api_key=settings.api_key.get_secret_value() or None,
        tls=files if ca or certificate else settings.tls or None,
        keep_alive_config=KeepAliveConfig(interval_millis=10_000, timeout_millis=5_000),
        lazy=lazy,
        runtime=_runtime(),
    )


@cache
def _runtime() -> Runtime:
    """Return the threads of the SDK, which print nothing about a server that is away."""
    silent = TelemetryFilter(core_level="OFF", other_level="OFF")
    return Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(silent)))


def worker_of(client: Client, task_queue: str, carry_out: CarryOut, slots: int) -> Worker:
    """Return a worker that carries out at most `slots` orders at once."""

    @activity.defn(name="leadline.session")
    async def session(run_id: str, number: int, attempt: int) -> None:
        beating = asyncio.create_task(_beat())
        try:
            await carry_out(Submission(run_id, number), attempt)
        except Exception as error:  # noqa: BLE001 - any; its text may tell what the run is about
            name = type(error).__name__
            raise ApplicationError(name, category=ApplicationErrorCategory.BENIGN) from None
        finally:
            beating.cancel()

    return Worker(
        client,
        task_queue=task_queue,
        workflows=[Order],
        activities=[session],
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_concurrent_activities=slots,
        disable_eager_activity_execution=True,  # which would know no turns
        max_heartbeat_throttle_interval=_BEAT,
        default_heartbeat_throttle_interval=_BEAT,
        graceful_shutdown_timeout=_LONGEST,
    )


async def _beat() -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(_BEAT.total_seconds())
