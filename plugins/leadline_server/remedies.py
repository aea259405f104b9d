"""Messages for readers without a shell: commands become requests, options the settings that they set.

Folders of the server become an ellipsis.
"""

from __future__ import annotations

import re
from typing import TypeVar

from pydantic import BaseModel

from leadline.records import Event

# Events with messages to the user.
_TOLD = ("run.finished", "notice", "error", "progress")
Message = TypeVar("Message", bound=BaseModel)
# The requests that do what a command does, by the first words of the command.
_REQUESTS = {
    "config": "GET /v1/settings",
    "knowledge add": "POST /v1/knowledge?name=FILE",
    "knowledge list": "GET /v1/knowledge",
    "pipelines": "GET /v1/models",
    "plugins": "GET /v1/plugins",
    "research": "POST /v1/runs",
    "resume": "POST /v1/runs/ID/resume",
    "runs": "GET /v1/runs",
}
_COMMAND = re.compile(
    r"`leadline (\w+)( \w+)?[^`]*`|`?pip install (?:--[\w-]+ )*(['\"]?)([\w.\[\],-]+)\3`?|--set (?=[\w.])"
)


def for_readers(text: str, folder: str = "") -> str:
    """Return a message of Leadline in which no command line is left, nor this folder of the server."""
    text = _COMMAND.sub(_remedy, text)
    return text.replace(folder, "…") if folder else text


def _remedy(found: re.Match[str]) -> str:
    command, more, _, package = found.groups()
    if package:
        return f"the operator installs {package}"
    if not command:
        return ""  # of `--set KEY=VALUE` the setting is left
    words = f"{command}{more or ''}"
    return _REQUESTS.get(words) or _REQUESTS.get(command) or f"`{words}` by the operator"


def record_for_readers(record: Message, *names: str, folder: str = "") -> Message:
    """Return a record with these texts, or tuples of texts, for readers; it is the same one if nothing changes."""
    update = {}
    for name in names:
        value = getattr(record, name)
        told = [for_readers(text, folder) for text in ([value] if isinstance(value, str) else value)]
        changed = told[0] if isinstance(value, str) else tuple(told)
        if changed != value:
            update[name] = changed
    return record.model_copy(update=update) if update else record


def event_for_readers(event: Event, folder: str) -> Event:
    """Return an event whose message is for readers; none of its texts has this folder of the server."""
    if folder in (text := event.model_dump_json()):
        event = Event.model_validate_json(text.replace(folder, "…"))
    if event.kind not in _TOLD:
        return event
    told = {key: for_readers(value) if isinstance(value, str) else value for key, value in event.data.items()}
    return event.model_copy(update={"data": told})
