"""OpenAlex: what it is asked, and works after its documentation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from leadline.records import SearchPage
from leadline.testing.servers import ScriptedServer, json_answer
from leadline_plugins.search.results import abstract, author

Search = Callable[..., Awaitable[SearchPage]]
WORK: dict[str, Any] = {
    "id": "https://openalex.org/W1",
    "doi": "https://doi.org/10.1234/kelp",
    "display_name": "Kelp",
    "publication_date": "2021-03-04",
    "type": "article",
    "relevance_score": 12.5,
    "authorships": [{"author": {"display_name": "Ada van der Berg"}}, {"author": {"display_name": "王小明"}}, {}],
    "primary_location": {
        "landing_page_url": "https://doi.org/10.1234/kelp",
        "source": {"display_name": "Journal of Kelp", "host_organization_name": "Sea Press"},
    },
    "best_oa_location": None,
    "biblio": {"volume": "7", "issue": None, "first_page": "1", "last_page": "9"},
    "abstract_inverted_index": {"grows": [1, 3], "Kelp": [0], "and": [2]},
}


async def test_the_request(search: Search, server: ScriptedServer) -> None:
    server.answers = [json_answer({"results": []})]
    await search("openalex", "what is kelp?", since="2020-01-01", open_access=True, request={"language": "de"})
    asked = parse_qs(urlsplit(server.asked[0].path).query)
    assert asked["search"] == ["what is kelp"]
    assert asked["filter"] == ["from_publication_date:2020-01-01,is_oa:true,is_retracted:false"]
    assert server.asked[0].headers["authorization"] == "Bearer tvly-a-secret-of-twenty-four"


async def test_no_header_is_sent_without_a_key(search: Search, server: ScriptedServer) -> None:
    server.answers = [json_answer({"results": []})]
    await search("openalex", api_key="")
    assert "authorization" not in server.asked[0].headers


async def test_a_work_that_can_only_be_bought_has_its_abstract(search: Search, server: ScriptedServer) -> None:
    server.answers = [json_answer({"results": [WORK]})]
    (hit,) = (await search("openalex")).hits
    assert hit.url == "https://doi.org/10.1234/kelp"
    assert (hit.text, hit.content_url, hit.published) == ("Kelp grows and grows", None, "2021-03-04")
    assert hit.csl == {
        "type": "article-journal",
        "author": [{"family": "van der Berg", "given": "Ada"}, {"literal": "王小明"}],
        "container-title": "Journal of Kelp",
        "publisher": "Sea Press",
        "volume": "7",
        "page": "1-9",
        "issued": {"date-parts": [[2021, 3, 4]]},
        "DOI": "10.1234/kelp",
    }


async def test_an_open_work_is_read_at_its_free_address(search: Search, server: ScriptedServer) -> None:
    free = {"pdf_url": "https://example.org/kelp.pdf", "landing_page_url": "https://example.org/kelp"}
    server.answers = [json_answer({"results": [WORK | {"best_oa_location": free}]})]
    (hit,) = (await search("openalex")).hits
    assert (hit.text, hit.content_url) == (None, "https://example.org/kelp.pdf")
    assert hit.snippet == "Kelp grows and grows"


def test_a_malformed_abstract_is_tolerated() -> None:
    assert abstract({"far": [10**12], "near": [-1, "x"], "odd": 3}) == "near far"


def test_latin_names_are_split() -> None:
    assert author("Plato") == {"literal": "Plato"}
    assert author("Jean-Paul  Sartre") == {"family": "Sartre", "given": "Jean-Paul"}
    assert author("CMS Collaboration 2") == {"literal": "CMS Collaboration 2"}
