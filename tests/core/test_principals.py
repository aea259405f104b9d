"""Principals: runs, cached replies and credentials of the users on whose behalf runs work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretStr

import leadline
from leadline._runtime.runs.folder import MAX_ID, folder_of
from leadline.contracts import Call
from leadline.errors import UsageError
from leadline.plugin import search_provider
from leadline.records import Hit, Principal, SearchPage, SearchRequest
from leadline.runs import PRINCIPALS
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
CREDENTIAL = "credential-of-alice-1234567890"


class Mailbox:
    """An engine over the letters of the user; it counts its requests."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        user = call.run.principal
        owner = user.id if user else "nobody"
        secret = user.credential.get_secret_value() if user and user.credential else ""
        self.asked.append((owner, secret))
        text = f"The harbour of {owner} measured 7 fathoms at each sounding."
        return SearchPage(hits=(Hit(url=f"mail:{owner}", title=f"A letter to {owner}", text=text),))


def client(folder: Path, engine: Mailbox | None = None, *, per_user: bool = True) -> leadline.Client:
    """Return a client over a mailbox, or over the made-up web."""
    offer = search_provider("Letters", cache_key=("*", "run.principal") if per_user else ("*",))(
        lambda: cast("Any", engine)
    )
    used = "mailbox" if engine else "fakeweb"
    settings: dict[str, Any] = {"search.engines": [used], "read.fetchers": ["fakeweb"], "retry.base": 0}
    plugins = [fake_web(), *([plugin("mailbox", offer)] if engine else [])]
    return leadline.Client(plugins=plugins, folder=folder / "runs", cache=folder / "cache", set=settings)


async def asked(client: leadline.Client, engine: Mailbox, principal: str | None) -> int:
    """Run the question on behalf of a principal; return the number of requests to the engine."""
    before = len(engine.asked)
    result = await client.research(QUESTION, principal=principal)
    assert result.status == "complete"
    return len(engine.asked) - before


@pytest.mark.parametrize("per_user", [True, False])
async def test_no_principal_gets_cached_replies_of_another(per_user: bool, tmp_path: Path) -> None:
    engine = Mailbox()
    async with client(tmp_path, engine, per_user=per_user) as runs:
        assert await asked(runs, engine, "alice") > 0
        assert await asked(runs, engine, "bob") > 0
        assert await asked(runs, engine, None) > 0
        assert await asked(runs, engine, "alice") == 0, "her own replies are reused"
        # Without a principal nobody knows whose replies those of a `per_user` engine are.
        assert (await asked(runs, engine, None) > 0) is per_user


async def test_a_request_with_the_credential_of_the_principal_is_refused_and_events_mask_it(tmp_path: Path) -> None:
    engine = Mailbox()
    alice = Principal(id="alice", credential=SecretStr(CREDENTIAL))
    async with client(tmp_path, engine) as runs:
        run = await runs.start(f"{QUESTION} ({CREDENTIAL})", principal=alice)
        events = [event async for event in run.events()]
        result = await run.result()
    assert [event.data["principal"] for event in events if event.kind == "run.started"] == ["alice"]
    assert result.metadata.principal == "alice"
    assert CREDENTIAL not in "".join(event.model_dump_json() for event in events)
    assert engine.asked == []


async def test_a_run_keeps_its_principal_when_it_is_resumed_or_replayed(tmp_path: Path) -> None:
    engine = Mailbox()
    async with client(tmp_path, engine) as runs:
        result = await runs.research(QUESTION, principal=Principal(id="alice", credential=SecretStr(CREDENTIAL)))
        stored = b"".join(path.read_bytes() for path in result.folder.rglob("*") if path.is_file())
        assert CREDENTIAL.encode() not in stored
        calls = len(engine.asked)
        assert set(engine.asked) == {("alice", CREDENTIAL)}
        for principal in ("alice", None):  # an operator resumes it by its folder
            again = await (await runs.resume(result.folder, principal=principal)).result()
            assert (again.status, again.metadata.principal) == ("complete", "alice")
            assert (await runs.replay(result.folder, principal=principal)).text == result.text
        assert len(engine.asked) == calls


async def test_a_principal_finds_only_its_own_runs(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        results = {name: await runs.research(QUESTION, principal=name) for name in ("alice", "bob", None)}
        for name, result in results.items():
            assert [run.folder for run in runs.runs(principal=name)] == [result.folder]
            assert runs.find(result.metadata.run_id, principal=name).folder == result.folder
            assert runs.find(result.folder, principal=name).folder == result.folder
        bobs = results["bob"].folder
        for run in (bobs, bobs.name, f"../{bobs.parent.name}/{bobs.name}", "", "..", "../../..", "\0"):
            with pytest.raises(UsageError, match="no run"):
                runs.find(run, principal="alice")
        with pytest.raises(UsageError, match="there is no run"):
            await runs.resume(bobs, principal="alice")
        with pytest.raises(UsageError, match="there is no run"):
            runs.label(bobs, title="Mine", principal="alice")
        with pytest.raises(UsageError, match="there is no run"):
            runs.delete(bobs, principal="alice")
        with pytest.raises(UsageError, match="there is no run"):
            await runs.replay(bobs, principal="alice")
        runs.delete(bobs, principal="bob")
        assert runs.runs(principal="bob") == []
        # A run that somebody copied into another principal's folder stays that of its principal.
        alices = results["alice"].folder
        moved = folder_of(tmp_path / "runs", Principal(id="bob")) / alices.name
        moved.parent.mkdir(parents=True, exist_ok=True)
        alices.rename(moved)
        with pytest.raises(UsageError, match="does not belong to this principal"):
            await runs.resume(moved, principal="bob")


IDS = [
    *("alice", "Alice", "ALICE", "alice ", "alice.", "al/ice", "al\\ice", "..", ".", "/", "/etc/passwd", "../../x"),
    *("~root", "C:\\x", "con", "NUL", "aux.txt", "-rf", ".hidden", "a:b", "a\0b", "a\nb", "*?", "%2e%2e", "x" * MAX_ID),
    *("é", "e\u0301", "Ａlice", "аlice", "李", "🙂" * 300, "\u202egnp", "i̇", "ﬁ", "principals"),
]


def test_any_id_has_a_folder_of_its_own_on_every_file_system(tmp_path: Path) -> None:
    folders = [folder_of(tmp_path, Principal(id=name)) for name in IDS]
    assert {folder.parent for folder in folders} == {tmp_path / PRINCIPALS}
    assert len({folder.name.casefold() for folder in folders}) == len(IDS)
    for folder in folders:
        assert folder.name.isascii()
        assert len(folder.name) <= 65
        assert set(folder.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
        assert folder.name[0] != "-"
        folder.mkdir(parents=True)
    assert folder_of(tmp_path, Principal(id="alice")).name.startswith("alice-")


@pytest.mark.parametrize(
    "principal", ["", " \n", "x" * (MAX_ID + 1), "\ud800", 7, b"alice", Principal(id=""), Principal(id="\ud800")]
)
async def test_an_unusable_principal_is_refused_before_anything_is_written(principal: Any, tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        with pytest.raises(UsageError, match="principal: the id"):
            await runs.start(QUESTION, principal=principal)
        with pytest.raises(UsageError, match="principal: the id"):
            runs.runs(principal=principal)
    assert not (tmp_path / "runs").exists()


async def test_the_metadata_of_a_run_without_a_principal_has_an_empty_one(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        result = await runs.research(QUESTION)
    assert result.folder.parent == tmp_path / "runs"
    assert json.loads((result.folder / "metadata.json").read_text())["principal"] == ""
