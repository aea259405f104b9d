"""What a run was asked to do: a checked question, with the settings and versions it is answered with."""

from __future__ import annotations

import platform
import secrets
from collections.abc import Mapping
from datetime import datetime

from leadline.errors import UsageError
from leadline.events import utc_now
from leadline.records import Json, Record
from leadline.runs.folder import folder_name
from leadline.settings.load import Settings

LONGEST_QUESTION = 20_000
"""Characters. What is longer is a document: put it into the folder that is searched."""


class Order(Record):
    """What a run was asked to do, kept in its journal: enough to go on with it anywhere."""

    run_id: str
    trace_id: str
    question: str
    pipeline: str
    began: datetime
    settings: Json = {}
    """Resolved, without secrets."""
    versions: dict[str, str] = {}
    tags: dict[str, str] = {}

    def under(self, settings: Settings) -> Order:
        """Return the order as a session with these settings goes on with it."""
        return self.model_copy(update={"settings": settings.public(), "pipeline": settings.pipeline})


def new_order(question: str, settings: Settings, tags: Mapping[str, str]) -> Order:
    """Return the order to answer a question with these settings, under an id of its own."""
    began = utc_now().replace(microsecond=0)
    trace = secrets.token_hex(16)
    return Order(
        run_id=folder_name(trace, began),
        trace_id=trace,
        question=question,
        pipeline=settings.pipeline,
        began=began,
        settings=settings.public(),
        versions=versions(),
        tags=dict(tags),
    )


def checked_question(question: str) -> str:
    """Return the question, trimmed. Raises `UsageError` where it is empty or far too long."""
    text = question.strip()
    if not text:
        raise UsageError('the question is empty: leadline research "How does …?"')
    if len(text) > LONGEST_QUESTION:
        raise UsageError(
            f"the question has {len(text):,} characters, at most {LONGEST_QUESTION:,} are taken: "
            "put long material into a folder and name it with --docs"
        )
    return text.encode("utf-8", "replace").decode()


def versions() -> dict[str, str]:
    """Return what a run was made with."""
    from leadline import __version__

    return {"leadline": __version__, "python": platform.python_version()}
