"""What of the settings is secret though it is of no secret type: what stands in an address."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, SecretStr

import leadline
from leadline._settings.redaction import public, secrets_in_address, secrets_of
from leadline._settings.schema import toml_value
from leadline.contracts import Call
from leadline.errors import ConfigError
from leadline.plugin import PluginSettings, search_provider
from leadline.records import Hit, SearchPage, SearchRequest
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

KEY = "sk-0123456789abcdef"


class Reached(PluginSettings):
    proxy: str = ""
    base_url: str = ""


@pytest.mark.parametrize(
    "address",
    [
        f"http://someone:{KEY}@proxy.example.org:3128",
        f"https://{KEY}@api.example.org/v1",
        f"https://api.example.org/v1?key={KEY}",
        f"https://api.example.org/v1?api-version=1&subscription-key={KEY}#x",
        f"https://api.example.org/v1?sv=1&SIG={KEY}",
        f"postgresql+psycopg://me:{KEY}@db/x",
        f"https://api.example.org/v1?access_token={KEY}",
        f"https://api.example.org/v1?q=x&my-api-key={KEY}",
        f"https://files.example.org/a?X-Amz-Signature={KEY}",
        f"https://files.example.org/a?X-Amz-Security-Token={KEY}",
        f"https://api.example.org/v1?client_secret={KEY}",
    ],
)
def test_a_secret_in_an_address_is_neither_kept_nor_shown(address: str) -> None:
    settings = Reached(proxy=address, base_url="https://api.example.org/v1")
    assert KEY not in json.dumps(public(settings))
    assert public(settings)["base_url"] == settings.base_url
    assert [*secrets_of(settings.model_dump())] == [KEY]


@pytest.mark.parametrize(
    "text",
    [
        "https://x.openai.azure.com/openai/deployments/m/chat/completions?api-version=2024-10-21",
        "ssh://git@github.com/a/b",
        "https://example.org/?monkey=1&tokens=5&designature=x&q=a:b@c",
        "https://example.org/?sort_key=date&page_token=2&next.token=3&zip_code=1&code=2&primarykey=4",
        "Write to https://a:b@example.org as it says there",
        "http://127.0.0.1:11434/v1",
        "a:b@c",
    ],
)
def test_what_is_none_is_no_secret(text: str) -> None:
    assert secrets_in_address(text) == []


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_can_be_looked_through(one: str, other: str) -> None:
    for text in (one, f"http://{one}", f"http://{one}:{other}@h", f"http://h?{one}key={other}"):
        assert all(found in text for found in secrets_in_address(text))


class Asked:
    """An engine at an address."""

    def __init__(self, *_: object) -> None:
        pass

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        return SearchPage(hits=(Hit(title="Soundings", url="https://example.org/1", snippet="A fathom is six feet."),))


BEGAN, OTHER = "https://api.example.org/v1?owner=someone", "https://api.example.org/v2"
PERSON, NOBODY = "someone@example.org", "nobody@example.org"


class Served(PluginSettings):
    """A service with every kind of setting that a run does not store."""

    unstored = ("contact",)

    base_url: str = ""
    contact: str = ""
    extra: dict[str, JsonValue] = {}
    key: SecretStr = SecretStr("")


@pytest.mark.parametrize(
    ("began", "again", "refused", "notice"),
    [
        ({"base_url": BEGAN}, {}, "plugins.asked.base_url: was not stored", ""),
        ({"base_url": BEGAN}, {"base_url": OTHER}, "", ""),
        ({"base_url": "https://api.example.org/v1"}, {}, "", ""),
        ({"contact": PERSON}, {}, "", "plugins.asked.contact: was not stored with the run, .* its default is used"),
        ({"contact": PERSON}, {"contact": PERSON}, "", ""),
        ({"extra.user": PERSON}, {}, "plugins.asked.extra.user: was not stored", ""),
        ({"extra.user": PERSON}, {"extra.user": PERSON}, "", ""),
        ({"extra.top": 5, "extra.deep.why": False}, {}, "", ""),
    ],
)
async def test_a_resumed_run_is_given_again_what_was_not_stored(
    began: dict[str, Any], again: dict[str, Any], refused: str, notice: str, tmp_path: Path
) -> None:
    """Without what decides an answer it does not go on; without the rest it does, and says so."""
    first = await resumable(began, tmp_path)
    async with leadline.Client(set=named(again), **options(tmp_path)) as runs:
        if refused:
            with pytest.raises(ConfigError, match=refused):
                await runs.resume(first.folder)
            return
        result = await (await runs.resume(first.folder)).result()
    said = [text for text in result.metadata.notices if "was not stored" in text or "differ now" in text]
    assert [bool(re.match(notice, text)) for text in said] == ([True] if notice else [])
    assert PERSON not in str(said)


@pytest.mark.parametrize(
    ("began", "written", "told"),
    [
        ({"extra.user": PERSON}, {"extra": {"user": PERSON}}, ""),
        ({"extra.user": PERSON}, {"extra": {"user": NOBODY}}, "plugins.asked.extra.user "),
        ({"contact": PERSON}, {"contact": NOBODY}, "plugins.asked.contact "),
        ({}, {"contact": NOBODY}, "plugins.asked.contact "),
        ({"base_url": BEGAN}, {"base_url": BEGAN.replace("someone", "nobody")}, "plugins.asked.base_url "),
        ({"base_url": BEGAN}, {"base_url": OTHER}, "plugins.asked.base_url "),
    ],
)
async def test_a_change_of_what_was_not_stored_is_told(
    began: dict[str, Any], written: dict[str, Any], told: str, tmp_path: Path
) -> None:
    first = await resumable(began, tmp_path)
    assert "differ now" not in " ".join(first.metadata.notices), "a new run has nothing to differ from"
    file = tmp_path / "leadline.toml"
    file.write_text("\n".join(["[plugins.asked]", *(f"{key} = {toml_value(item)}" for key, item in written.items())]))
    async with leadline.Client(settings=file, **options(tmp_path)) as runs:
        result = await (await runs.resume(first.folder)).result()
    said = [text for text in result.metadata.notices if "not stored with a run differ now" in text]
    assert (told in said[0] and NOBODY not in said[0] and PERSON not in said[0]) if told else not said


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"extra.user": PERSON}, {"extra.user": PERSON}, True),
        ({"extra.user": PERSON}, {"extra.user": NOBODY}, False),
        ({"extra.user": PERSON}, {}, False),
        ({"extra.top": 5}, {"extra.top": 6}, False),
        ({"base_url": BEGAN}, {"base_url": BEGAN.replace("someone", "nobody")}, False),
        ({"contact": PERSON}, {"contact": NOBODY}, True),
    ],
)
async def test_the_key_of_a_call_differs_where_its_answer_may(
    one: dict[str, Any], other: dict[str, Any], same: bool, tmp_path: Path
) -> None:
    found = []
    for values in (one, other):
        async with leadline.Client(set=named(values), **options(tmp_path)) as runs:
            found.append(runs.plugins.instance("search_providers", "asked").identity.fingerprint)
    assert (found[0] == found[1]) is same


async def test_a_replay_elsewhere_needs_nothing_that_was_not_stored(tmp_path: Path) -> None:
    """Not even the key of this machine, which is in the folder of the cache."""
    first = await resumable({"extra.user": PERSON, "base_url": BEGAN, "contact": PERSON}, tmp_path)
    async with leadline.Client(**(options(tmp_path) | {"cache": tmp_path / "elsewhere"})) as runs:
        again = await runs.replay(first.folder)
    assert again.status == first.status, again.reason
    assert again.text == first.text


def named(values: dict[str, Any]) -> dict[str, Any]:
    chosen = {"search.engines": ["asked"], "read.fetchers": ["fakeweb"], "ai.providers": ["embedded"]}
    return chosen | {f"plugins.asked.{key}": value for key, value in values.items()}


def options(folder: Path) -> dict[str, Any]:
    asked = plugin("asked", search_provider("At an address", settings=Served)(Asked))
    return {"plugins": [asked, fake_web()], "folder": folder / "runs", "cache": folder / "cache"}


async def resumable(values: dict[str, Any], folder: Path) -> leadline.Result:
    """Return a run with these settings."""
    async with leadline.Client(set=named(values), **options(folder)) as runs:
        return await runs.research("How deep is the harbour?")


async def test_the_journal_of_a_run_holds_no_password_of_a_proxy(tmp_path: Path) -> None:
    values = {"plugins.openai.proxy": f"http://someone:{KEY}@127.0.0.1:9", "plugins.openai.api_key": "k" * 20}
    (tmp_path / "harbour.txt").write_text("The harbour is deep.")
    async with leadline.Client(docs=tmp_path, folder=tmp_path / "runs", cache=tmp_path / "cache", set=values) as runs:
        handle = await runs.start("How deep is the harbour?")
        await handle.cancel()
    for path in handle.folder.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path
