"""Write: the sections stand as they are; a title, and no sentence that nobody wrote."""

from __future__ import annotations

from leadline_plugins.tasks import Composition, WriteRequest


def write(request: WriteRequest) -> Composition:
    """Return the sections under the plan's title; those without text are left out."""
    return Composition(
        title=request.plan.title, sections=tuple(section for section in request.sections if section.text)
    )
