"""What the pages of a run work out."""

from __future__ import annotations

import pytest

from leadline_server.page.run_pages import waiting_before
from leadline_server.queue import QueuedRun


def queued(run_id: str, ordered: float, state: str = "waiting") -> QueuedRun:
    return QueuedRun(run_id, "alice", None, state, 0, "", ordered, False, False, "", "")  # type: ignore[arg-type]


@pytest.mark.parametrize(("run_id", "before"), [("first", 0), ("second", 1), ("third", 2), ("begun", 0), ("none", 0)])
def test_the_place_in_the_queue_counts_waiting_runs_that_were_ordered_earlier(run_id: str, before: int) -> None:
    runs = [queued("third", 3.0), queued("first", 1.0), queued("begun", 0.5, "claimed"), queued("second", 2.0)]
    assert waiting_before(runs, run_id) == before
