"""The queue of runs: orders wait here, workers take them, and no order is lost.

`open_queue` opens one: in a file of the folder of runs, or in Postgres by URL. `Database` is the seam for another
engine. The journal of a run makes it continue without repeating calls; the queue only decides who works on it. Nothing
here needs the packages of the server.
"""

from leadline_server.queue.records import (
    Claim,
    Full,
    Notification,
    QueuedRun,
    QueueUnavailable,
    Quota,
    Replaced,
    Spent,
    Taken,
    Worker,
)
from leadline_server.queue.sql import Queue, open_queue

__all__ = [
    "Claim",
    "Full",
    "Notification",
    "Queue",
    "QueueUnavailable",
    "QueuedRun",
    "Quota",
    "Replaced",
    "Spent",
    "Taken",
    "Worker",
    "open_queue",
]
