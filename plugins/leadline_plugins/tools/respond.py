"""The tool `respond`: ends the exploration, and says what was found out and what is missing."""

from __future__ import annotations

from pydantic import Field

from leadline.records import Json, Text
from leadline_plugins.tools.desk import Desk
from leadline_plugins.tools.tool import Arguments, ToolKind


class Respond(Arguments):
    """What came of it."""

    found: Text = Field(description="what was found out, in a few sentences")
    missing: tuple[Text, ...] = Field((), description="what could not be found, as questions")


async def _respond(said: Respond, desk: Desk) -> Json:
    desk.answer, desk.missing = said.found, said.missing
    return {"noted": True}


RESPOND = ToolKind(
    "respond",
    "End the exploration: say what was found out and what is missing. The report is written from the pages that were "
    "read, not from this.",
    Respond,
    _respond,
)
