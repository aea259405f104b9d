"""Messages for readers without a shell: commands become requests, options the settings that they set.

Folders of the server become an ellipsis.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

from pydantic import BaseModel

from leadline.records import Event, Notice

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
    r"`?(?:pip|leadline plugins) install (?:--[\w-]+ )*(['\"]?)([\w.\[\],-]+)\1`?"
    r"|`leadline (\w+)( \w+)?[^`]*`|--set (?=[\w.])"
)


def for_readers(value: Any, folder: str = "") -> Any:
    """Return a message of Leadline, or all those of a tuple or table, without command lines and this folder."""
    match value:
        case Notice():
            return value.changed(lambda text: str(for_readers(text, folder)))
        case str():
            text = _COMMAND.sub(_remedy, value)
            return text.replace(folder, "…") if folder else text
        case tuple() | list():
            return type(value)(for_readers(item, folder) for item in value)
        case dict():
            return {name: for_readers(item, folder) for name, item in value.items()}
    return value


def _remedy(match: re.Match[str]) -> str:
    _, package, command, more = match.groups()
    if package:
        return f"the operator installs {package}"
    if not command:
        return ""  # of `--set KEY=VALUE` the setting is left
    words = f"{command}{more or ''}"
    return _REQUESTS.get(words) or _REQUESTS.get(command) or f"`{words}` by the operator"


def record_for_readers(record: Message, *names: str, folder: str = "") -> Message:
    """Return a record with these texts, or tuples of texts, for readers."""
    return record.model_copy(update={name: for_readers(getattr(record, name), folder) for name in names})


def event_for_readers(event: Event, folder: str) -> Event:
    """Return an event whose message is for readers; none of its texts has this folder of the server."""
    if folder in (text := event.model_dump_json()):
        event = Event.model_validate_json(text.replace(folder, "…"))
    return record_for_readers(event, "data") if event.kind in _TOLD else event
