"""What is installed and set: the records of `Client.describe_plugins` and `Client.describe_settings`."""

from __future__ import annotations

from pydantic import JsonValue

from leadline.records import Record

MASK = "********"


class Setting(Record):
    """A setting: its value, and the file, variable or argument that it is from. A secret value is masked."""

    value: JsonValue
    origin: str


class InstalledPlugin(Record):
    """An installed plugin; `lacks` is what must be installed or set before it can work."""

    name: str
    kinds: tuple[str, ...]
    distribution: str
    version: str
    status: str
    lacks: str = ""
