"""What tools of MCP servers return, read as hits."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp_types import CallToolResult, EmbeddedResource, ResourceLink, TextContent, TextResourceContents

from leadline_plugins.mcp.engine import hit_of, listed

ROW = {"url": "https://a.example/1", "title": "One"}


def texts(*parts: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=part) for part in parts])


def structured(data: Any) -> CallToolResult:
    return CallToolResult(content=[], structured_content=data)


@pytest.mark.parametrize(
    ("result", "path"),
    [
        (structured({"result": [ROW]}), ""),
        (structured({"result": [ROW]}), "result"),
        (structured({"web": {"results": [ROW]}, "other": [1]}), "web.results"),
        (structured({"web.results": [ROW]}), "web.results"),
        (structured([{"hits": [ROW]}]), "0.hits"),
        (texts(json.dumps([ROW])), ""),
        (texts(json.dumps({"results": [ROW], "took": 3})), ""),
        (texts(json.dumps(ROW), json.dumps(ROW)), ""),
        (texts("Found two pages:", json.dumps(ROW), json.dumps(ROW)), ""),
    ],
)
def test_the_list_of_results_is_found(result: CallToolResult, path: str) -> None:
    assert listed(result, path)[0] == ROW


def test_links_and_resources_are_results() -> None:
    link = ResourceLink(type="resource_link", uri="https://a.example/1", name="n", title="One", description="About one")
    whole = EmbeddedResource(
        type="resource", resource=TextResourceContents(uri="wiki://two", mime_type="text/plain", text="All of two.")
    )
    hits = [hit_of(item, {}) for item in listed(CallToolResult(content=[link, whole]), "")]
    assert [(hit.url, hit.title, hit.snippet, hit.text) for hit in hits if hit] == [
        ("https://a.example/1", "One", "About one", None),
        ("wiki://two", "", "", "All of two."),
    ]


@pytest.mark.parametrize(
    ("result", "path", "words"),
    [
        (structured({"a": [ROW], "b": [ROW]}), "", "it has a, b"),
        (structured({"a": [ROW]}), "b.c", "at 'b.c': it has a"),
        (texts("1. One https://a.example/1"), "", "neither structured nor JSON"),
        (texts("{" * 100_000), "", "neither structured nor JSON"),
        (structured({}), "", "it has nothing"),
        (structured("x"), "", "it is str"),
    ],
)
def test_a_reply_without_a_list_is_named(result: CallToolResult, path: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        listed(result, path)


def test_fields_are_mapped_by_name_or_by_path() -> None:
    item = {"meta": {"ref": "https://a.example/1"}, "head": "<b>One</b>", "parts": ["a", "b"], "when": "2023-01-29"}
    fields = {"url": "meta.ref", "title": "head", "text": "parts", "published": "when"}
    hit = hit_of(item, fields)
    assert hit is not None
    assert (hit.url, hit.title, hit.text, hit.published) == ("https://a.example/1", "One", "a\n\nb", "2023-01-29")


@pytest.mark.parametrize("item", [{"title": "without address"}, "text", None, {"url": {"not": "text"}}, {"url": ""}])
def test_a_result_without_an_address_is_no_hit(item: Any) -> None:
    assert hit_of(item, {}) is None


def test_a_field_that_is_mapped_is_not_guessed() -> None:
    hit = hit_of({"url": "https://a.example/1", "title": "One"}, {"title": "nosuch"})
    assert hit is not None
    assert hit.title == ""
