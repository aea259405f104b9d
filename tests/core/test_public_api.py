"""The public names of the package: complete, lazy and typed.

`python tests/core/test_public_api.py` writes the snapshot of the public API. It refuses while CHANGELOG.md is as at the
last snapshot: whoever changes the API tells its users.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import assert_type

import pytest

import leadline
from leadline.comparison import Comparison
from leadline.estimates import Explanation
from leadline.events import Subscription
from leadline.records import Report
from leadline.run_summary import RunSummary
from leadline.runs import Metadata, RunInfo, Status
from leadline.testing.fakes import fake_web

WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"]}
SNAPSHOT = Path(__file__).with_name("public_api.txt")
CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
# Programs, not libraries.
_PROGRAMS = ("leadline.cli", "leadline.commands", "leadline.__main__")


@pytest.mark.parametrize("name", leadline.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(leadline, name) is not None


def test_the_public_api_is_as_in_its_snapshot() -> None:
    recorded = SNAPSHOT.read_text("utf-8").partition("\n")[2].strip().splitlines()
    changes = set(recorded) ^ set(public_api().splitlines())
    assert not changes, "describe the change in CHANGELOG.md, then run python tests/core/test_public_api.py"


def test_an_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'leadline' has no attribute 'reserch'"):
        leadline.reserch  # noqa: B018
    assert set(leadline.__all__) <= set(dir(leadline))


async def test_the_methods_of_a_client_return_their_declared_types(tmp_path: Path) -> None:
    question = "How deep was the harbour measured at each sounding, in fathoms?"
    async with leadline.Client(plugins=[fake_web()], folder=tmp_path / "r", cache=tmp_path / "c", set=WEB) as client:
        assert_type(client.explain(), Explanation)
        handle = assert_type(await client.start(question), leadline.Run)
        assert_type(handle.events(), Subscription)
        result = assert_type(await handle.result(), leadline.Result)
        assert_type(result.status, Status)
        assert_type(result.report, Report | None)
        assert_type(result.metadata, Metadata)
        (run,) = assert_type(client.runs(), list[RunSummary])
        assert run.status == result.status == "complete"
        found = assert_type(client.find(run.id[:6]), RunInfo)
        assert (found.id, found.folder, found.status) == (run.id, run.folder, run.status)
        assert [one.id for one in client.runs(text="fathoms sounding", status="complete", limit=1)] == [run.id]
        assert client.runs(text="somewhere else") == []
        report = assert_type(await client.report(run.id), Report)
        assert result.report is not None
        assert report.sections == result.report.sections
        assert assert_type(await client.compare(run.id, run.id), Comparison).only_first == ()
        client.delete(run.id)
        assert client.runs() == []
    assert assert_type(result.files, tuple[Path, ...])


def public_api() -> str:
    """Return a line for each public function, class and method of the public modules."""
    names = sorted(module.name for module in pkgutil.walk_packages(leadline.__path__, "leadline."))
    public = [name for name in names if "._" not in name and not name.startswith(_PROGRAMS)]
    return "\n".join(line for name in public for line in _members(name))


def changelog() -> str:
    """Return the digest of the changelog."""
    return sha256(CHANGELOG.read_bytes()).hexdigest()[:12]


def _members(module: str) -> Iterator[str]:
    for name, value in sorted(vars(importlib.import_module(module)).items()):
        if name.startswith("_") or getattr(value, "__module__", module) != module:
            continue
        if inspect.isclass(value):
            yield f"{module}.{name}({', '.join(base.__name__ for base in value.__bases__)})"
            fields = [field for field in vars(value).get("__annotations__", {}) if not field.startswith("_")]
            yield from (f"{module}.{name}.{field}" for field in fields)
            methods = {key: member for key, member in vars(value).items() if inspect.isfunction(member)}
            yield from (f"{module}.{name}.{key}{_signature(it)}" for key, it in methods.items() if key[0] != "_")
        elif inspect.isfunction(value):
            yield f"{module}.{name}{_signature(value)}"


def _signature(function: object) -> str:
    """Return the names and kinds of parameters; defaults and types have tests of their own."""
    parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    return f"({', '.join(str(each.replace(annotation=each.empty, default=each.empty)) for each in parameters)})"


if __name__ == "__main__":
    recorded = SNAPSHOT.read_text("utf-8").partition("\n")[0] if SNAPSHOT.exists() else ""
    if recorded == changelog():
        sys.exit("CHANGELOG.md has not changed since the last snapshot: describe the change of the API there first")
    SNAPSHOT.write_text(f"{changelog()}\n{public_api()}\n", "utf-8")
