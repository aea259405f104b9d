"""arXiv: its query language, its feed after its documentation, and XML that means harm."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from leadline.errors import BadReply, Unsupported
from leadline.records import SearchPage
from leadline.testing.servers import ScriptedAnswer, ScriptedServer

Search = Callable[..., Awaitable[SearchPage]]
FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">
  <title>arXiv Query</title>{entries}
</feed>"""
ENTRY = """<entry>
  <id>http://arxiv.org/abs/hep-th/9901001v3</id>
  <published>2024-01-02T03:04:05Z</published>
  <title>Kelp
    and strings</title>
  <summary> An abstract. </summary>
  <author><name>Ada de la Cruz</name></author><author><name>Bo  Li</name></author>
  <arxiv:doi xmlns:arxiv="http://arxiv.org/schemas/atom">10.1/x</arxiv:doi>
  <arxiv:journal_ref xmlns:arxiv="http://arxiv.org/schemas/atom">J. Kelp 1</arxiv:journal_ref>
</entry>"""


def asked(server: ScriptedServer) -> str:
    return parse_qs(urlsplit(server.asked[-1].path).query)["search_query"][0]


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("How does the kelp of GPT-4 grow?", "(all:kelp OR all:GPT-4 OR all:grow)"),
        ('"sea urchin" kelp', '(all:"sea urchin" OR all:kelp)'),
        ("au:del_maestro AND ti:kelp", "(au:del_maestro AND ti:kelp)"),
        ("海藻", "(all:海藻)"),
    ],
)
async def test_questions_become_queries(query: str, sent: str, search: Search, server: ScriptedServer) -> None:
    server.answers = [ScriptedAnswer(FEED.format(entries="").encode())]
    await search("arxiv", query)
    assert asked(server) == sent


async def test_subjects_and_dates_limit_the_query(search: Search, server: ScriptedServer) -> None:
    server.answers = [ScriptedAnswer(FEED.format(entries="").encode())]
    await search("arxiv", "kelp", categories=["q-bio.PE", "cs.CL"], since="2024-01-02")
    assert asked(server) == (
        "(all:kelp) AND (cat:q-bio.PE OR cat:cs.CL) AND (submittedDate:[202401020000 TO 209912312359])"
    )


async def test_hits(search: Search, server: ScriptedServer) -> None:
    server.answers = [ScriptedAnswer(FEED.format(entries=ENTRY).encode())]
    (hit,) = (await search("arxiv")).hits
    assert hit.url == "https://arxiv.org/abs/hep-th/9901001"
    assert hit.content_url == "https://arxiv.org/pdf/hep-th/9901001"
    assert (hit.title, hit.snippet, hit.published) == ("Kelp and strings", "An abstract.", "2024-01-02")
    assert hit.csl == {
        "type": "article-journal",
        "author": [{"family": "de la Cruz", "given": "Ada"}, {"family": "Li", "given": "Bo"}],
        "container-title": "J. Kelp 1",
        "publisher": "arXiv",
        "number": "arXiv:hep-th/9901001",
        "issued": {"date-parts": [[2024, 1, 2]]},
        "DOI": "10.1/x",
    }


async def test_an_entry_may_be_an_error(search: Search, server: ScriptedServer) -> None:
    entry = "<entry><id>http://arxiv.org/api/errors#bad</id><title>Error</title><summary>bad query</summary></entry>"
    server.answers = [ScriptedAnswer(FEED.format(entries=entry).encode())]
    with pytest.raises(Unsupported, match="arXiv refuses the request: bad query"):
        await search("arxiv")


async def test_entities_are_not_expanded(search: Search, server: ScriptedServer, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret of this machine")
    layers = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 9))
    head = f'<!DOCTYPE feed [<!ENTITY e0 "{"kelp" * 10}">{layers}<!ENTITY file SYSTEM "{secret.as_uri()}">]>'
    entry = ENTRY.replace("An abstract.", "&e8; &file;")
    body = FEED.format(entries=entry).replace("<feed", f"{head}<feed", 1).encode()
    server.answers = [ScriptedAnswer(body)]
    try:
        page = await search("arxiv")
    except BadReply:
        return
    assert "secret" not in page.hits[0].snippet
    assert len(page.hits[0].snippet) < 100
