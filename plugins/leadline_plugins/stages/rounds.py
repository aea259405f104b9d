"""What belongs to a round of the research."""

from __future__ import annotations

from leadline.findings import SearchTask
from leadline.records import Evidence


def fresh(evidence: tuple[Evidence, ...], tasks: tuple[SearchTask, ...]) -> list[Evidence]:
    """Return the evidence that the last round brought."""
    last = tasks[-1].round if tasks else 0
    of_last = {task.id for task in tasks if task.round == last}
    return [item for item in evidence if item.task_id in of_last]
