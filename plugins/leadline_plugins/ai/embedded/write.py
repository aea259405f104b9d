"""Write: the sections stand as they are; a title, and no sentence that nobody wrote."""

from __future__ import annotations

from leadline_plugins.tasks.writing import Composition, WriteRequest


def write(request: WriteRequest) -> Composition:
    """Return the plan's title: the sections stand."""
    return Composition(title=request.plan.title)
