"""What is installed and set: the records that `Client.describe_*` return."""

from __future__ import annotations

from pydantic import JsonValue

from leadline.records import Record

MASK = "********"


class Setting(Record):
    """A setting: its value, and the file, variable or argument that it is from. A secret value is masked."""

    value: JsonValue
    origin: str


class InstalledPlugin(Record):
    """An installed plugin; `lacks` is what must be installed or set before it can work.

    Its status is `ready`, `incomplete`, `other API` if it was made for another one, or `broken` if it cannot be used.
    """

    name: str
    kinds: tuple[str, ...] = ()
    distribution: str
    version: str
    status: str
    lacks: str = ""


class InstalledPipeline(Record):
    """A pipeline of the settings; `problem` is why it cannot run, `lacks` the kinds of plugin that are missing.

    `uses` has the plugins by which its stages work, by the setting that names them, such as `search.engines`.
    """

    name: str
    description: str = ""
    level: str = ""
    problem: str = ""
    lacks: tuple[str, ...] = ()
    uses: dict[str, tuple[str, ...]] = {}
