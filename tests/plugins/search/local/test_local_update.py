"""The index over time: changes are noticed, nothing is read twice, and damage and death are survived."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from leadline.errors import Denied
from leadline.records import Blob, Document, SearchRequest
from leadline.testing.context import FakeRun
from leadline_plugins.parse.text import TextParser

LONG_AGO = time.time() - 3600


def age(path: Path, seconds: float = 0) -> None:
    os.utime(path, (LONG_AGO + seconds, LONG_AGO + seconds))


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were parsed."""
    names: list[str] = []
    real = TextParser.parse

    async def parse(self: TextParser, blob: Blob, call: Any) -> Document:
        names.append(blob.name)
        return await real(self, blob, call)

    monkeypatch.setattr(TextParser, "parse", parse)
    return names


async def test_only_what_changed_is_read_again(desk: Any, parsed: list[str]) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        age(desk.write(name, f"Tallow {name}."))
    assert len(await desk.names("tallow")) == 3
    parsed.clear()
    assert len(await desk.names("tallow")) == 3
    assert parsed == []
    desk.write("b.txt", "Rope.")
    (desk.docs / "c.txt").unlink()
    desk.write("d.txt", "Tallow.")
    assert sorted(await desk.names("tallow")) == ["a.txt", "d.txt"]
    assert await desk.names("rope") == ["b.txt"]
    assert sorted(parsed) == ["b.txt", "d.txt"]


async def test_a_touched_file_with_the_same_bytes_is_not_parsed(desk: Any, parsed: list[str]) -> None:
    path = desk.write("a.txt", "Tallow.")
    age(path)
    await desk.names("tallow")
    age(path, 60)
    assert await desk.names("tallow") == ["a.txt"]
    assert parsed == ["a.txt"]


async def test_a_change_within_one_clock_tick_is_noticed(desk: Any) -> None:
    path = desk.write("a.txt", "Tallow.")
    stamp = time.time()
    os.utime(path, (stamp, stamp))
    assert await desk.names("tallow") == ["a.txt"]
    path.write_text("Sheets.")  # the same size
    os.utime(path, (stamp, stamp))
    assert await desk.names("sheets") == ["a.txt"]


async def test_a_file_that_breaks_leaves_the_index(desk: Any) -> None:
    path = desk.write("a.txt", "Tallow.")
    desk.write("b.txt", "Oakum.")
    assert await desk.names("tallow") == ["a.txt"]
    path.write_bytes(b"Tallow \x00")
    assert await desk.names("tallow") == []
    assert list(await desk.problems()) == ["a.txt"]
    path.write_bytes(b"Tallow again")
    assert await desk.names("tallow") == ["a.txt"]
    assert await desk.problems() == {}


async def test_a_running_engine_looks_again_after_its_time(desk: Any) -> None:
    desk.write("a.txt", "Tallow.")
    patient, eager = desk.engine(refresh=3600), desk.engine(refresh=0)
    request = SearchRequest(query="tallow")
    for engine in (patient, eager):
        await engine.search(request, desk.call)
    desk.write("b.txt", "Tallow.")
    assert len((await patient.search(request, desk.call)).hits) == 1
    assert len((await eager.search(request, desk.call)).hits) == 2


async def test_a_parser_that_raises_anything_costs_its_file_only(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = TextParser.parse

    async def parse(self: TextParser, blob: Blob, call: Any) -> Document:
        if blob.name == "bad.txt":
            raise ZeroDivisionError("oh")
        return await real(self, blob, call)

    monkeypatch.setattr(TextParser, "parse", parse)
    desk.write("bad.txt", "Tallow.")
    desk.write("good.txt", "Tallow.")
    assert await desk.names("tallow") == ["good.txt"]
    assert await desk.problems() == {"bad.txt": "its parser failed: ZeroDivisionError: oh"}


async def test_many_searches_at_once_build_one_index(desk: Any, parsed: list[str]) -> None:
    for number in range(20):
        age(desk.write(f"{number}.txt", "Tallow."))
    engines = [desk.engine() for _ in range(3)]
    pages = await asyncio.gather(
        *(engine.search(SearchRequest(query="tallow"), desk.call) for engine in engines for _ in range(5))
    )
    assert [len(page.hits) for page in pages] == [10] * 15
    assert len(parsed) == 20


async def test_a_cancelled_search_says_so_and_leaves_the_index_to_the_next(desk: Any) -> None:
    for number in range(50):
        desk.write(f"{number}.txt", "Tallow.")
    for delay in (0.0, 0.005, 0.02, 0.05):
        search = asyncio.ensure_future(desk.hits("tallow"))
        await asyncio.wait({search}, timeout=delay)
        search.cancel()
        await asyncio.wait({search})
    notices = {data["message"] for kind, data in desk.call.run.emitted if kind == "notice"}
    assert notices == {f"{desk.context.name}: not searched, because its documents are still being read; ask again"}
    assert len(await desk.names("tallow")) == 10


def files(desk: Any) -> list[Path]:
    return [path for path in sorted(desk.cache.rglob("*")) if path.is_file() and path.stat().st_size]


@pytest.mark.parametrize("part", ["documents.sqlite", "meta.json", ".idx", ".store"])
@pytest.mark.parametrize("damage", ["emptied", "flipped", "removed"])
async def test_a_damaged_index_is_rebuilt(desk: Any, caplog: pytest.LogCaptureFixture, part: str, damage: str) -> None:
    for number in range(10):
        age(desk.write(f"{number}.txt", f"Tallow {number}."))
    await desk.names("tallow")
    hurt = [path for path in files(desk) if path.name.endswith(part)]
    for path in hurt:
        data = path.read_bytes()
        path.unlink()  # not in place: an engine of this process may still have it mapped
        if damage != "removed":
            path.write_bytes(b"" if damage == "emptied" else bytes(byte ^ 0xFF for byte in data))
    with caplog.at_level(logging.WARNING):
        assert len(await desk.names("tallow")) == 10
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    if hurt and warnings:
        assert [message.count("rebuilding") for message in warnings] == [1]


async def test_chance_damage_never_ends_in_an_error(desk: Any) -> None:
    for number in range(10):
        age(desk.write(f"{number}.txt", f"Tallow {number}."))
    await desk.names("tallow")
    chance = random.Random(3)
    for _ in range(12):
        path = chance.choice(files(desk))
        data = bytearray(path.read_bytes())
        for _ in range(5):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.unlink()
        path.write_bytes(data)
        assert "3.txt" in await desk.names("tallow 3")


async def test_documents_are_found_without_a_writable_cache(desk: Any) -> None:
    desk.write("a.txt", "Tallow.")
    desk.cache.write_text("a file where the folder should be")
    desk.call.run = FakeRun()
    engine = desk.engine(refresh=0)
    for number in range(2):
        hits = (await engine.search(SearchRequest(query="tallow"), desk.call)).hits
        assert len(hits) == 1 + number
        desk.write("b.txt", "Tallow, too.")
    assert [kind for kind, _ in desk.call.run.emitted] == ["notice"], "told once"
    told = desk.call.run.emitted[0][1]["message"]
    assert "index is not stored, because the cache cannot be written" in told
    assert str(desk.cache) not in told, "reports show notices, and name no folder of the machine"
    folder = engine._index._store.folder.parent
    assert folder.is_dir()
    del engine
    gc.collect()
    assert not folder.exists()


async def test_an_index_without_disk_space_is_reported(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    desk.write("a.txt", "Tallow.")
    monkeypatch.setattr("leadline_plugins.search.local.index.TemporaryFile", full)
    monkeypatch.setattr("leadline_plugins.search.local.index._open_lock", full)
    with pytest.raises(Denied, match="the index cannot be stored in"):
        await desk.hits("tallow")


PROGRAM = """
    import asyncio, sys
    from pathlib import Path
    from leadline.records import SearchRequest
    from leadline.testing.context import FakeCall, fake_context
    from leadline_plugins.parse.text import TextParser
    from leadline_plugins.search.local import update
    from leadline_plugins.search.local.provider import LocalSearch
    from leadline_plugins.search.local.folders import LocalSettings

    update._FILES = 7
    top = Path(sys.argv[1])
    context = fake_context(top / "cache", lambda _: TextParser())
    engine = LocalSearch(LocalSettings(folders=[top / "docs"]), context)
    page = asyncio.run(engine.search(SearchRequest(query="tallow", limit=200), FakeCall()))
    print(len(page.hits), len({hit.url for hit in page.hits}))
"""


def program(desk: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(desk.docs.parent)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
async def test_an_index_is_repaired_after_a_kill(desk: Any) -> None:
    chance = random.Random(11)
    for number in range(60):
        desk.write(f"{number}.txt", f"Tallow {number}.")
    for turn in range(6):
        process = program(desk)
        time.sleep(0.3 + chance.random() * 0.5)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        (desk.docs / f"{turn}.txt").unlink()
        desk.write(f"{turn + 20}.txt", f"Tallow, changed in turn {turn}.")
    process = program(desk)
    assert process.communicate()[0].split() == ["54", "54"]


@pytest.mark.slow
async def test_processes_may_search_side_by_side(desk: Any) -> None:
    for number in range(60):
        desk.write(f"{number}.txt", f"Tallow {number}.")
    processes = [program(desk) for _ in range(3)]
    assert [process.communicate()[0].split() for process in processes] == [["60", "60"]] * 3
