"""What of the settings is secret though it is of no secret type: what stands in an address."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leadline
from leadline._settings.redaction import public, secrets_in_address, secrets_of
from leadline.cli.config import shown
from leadline.contracts import Call
from leadline.hookspecs import Offer, PluginSettings
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
    settings = Reached(proxy=address, base_url="https://api.example.org/v1?api-version=2024-10-21")
    assert KEY not in json.dumps(public(settings))
    assert public(settings)["base_url"] == settings.base_url
    assert [*secrets_of(settings.model_dump())] == [KEY]
    assert KEY not in str(shown(settings.model_dump()))


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
def test_what_is_none_stays(text: str) -> None:
    assert secrets_in_address(text) == []
    assert public(Reached(proxy=text))["proxy"] == text


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


@pytest.mark.parametrize(
    ("address", "again", "told"),
    [
        (f"https://api.example.org/v1?key={KEY}", {}, True),
        (f"https://api.example.org/v1?key={KEY}", {"plugins.asked.base_url": "https://api.example.org/v2"}, False),
        ("https://api.example.org/v1?sort_key=date", {}, False),
    ],
)
async def test_a_resumed_run_says_which_address_it_goes_on_without(
    address: str, again: dict[str, str], told: bool, tmp_path: Path
) -> None:
    asked = plugin("asked", search_providers=Offer(Asked, Reached, "At an address"))
    options: dict[str, Any] = {"plugins": [asked, fake_web()], "cache": tmp_path / "cache"}
    values = {"search.engines": ["asked"], "read.fetchers": ["fakeweb"], "plugins.asked.base_url": address}
    async with leadline.Client(folder=tmp_path / "runs", set=values, **options) as runs:
        first = await runs.research("How deep is the harbour?")
    async with leadline.Client(set=again, **options) as runs:
        handle = await runs.resume(first.folder)
        result = await handle.result()
    said = [notice for notice in result.metadata.notices if "plugins.asked.base_url was not kept" in notice]
    assert bool(said) is told


async def test_the_journal_of_a_run_holds_no_password_of_a_proxy(tmp_path: Path) -> None:
    values = {"plugins.openai.proxy": f"http://someone:{KEY}@127.0.0.1:9", "plugins.openai.api_key": "k" * 20}
    async with leadline.Client(docs=tmp_path, folder=tmp_path / "runs", cache=tmp_path / "cache", set=values) as runs:
        handle = await runs.start("How deep is the harbour?")
        await handle.cancel()
    for path in handle.folder.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path
