"""Plugins of other kinds that are wrong in one way each: as `broken_asked.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from leadline.errors import Unsupported
from leadline.hookspecs import KINDS, Offer, offers_of
from leadline.records import (
    Blob,
    Block,
    Document,
    Embeddings,
    FetchRequest,
    Figure,
    Files,
    Hit,
    Judgement,
    Judgements,
    Ranking,
    SearchPage,
    Synthesis,
)
from leadline.testing.contracts import (
    ChartRunnerContract,
    ClaimJudgeContract,
    EmbedderContract,
    FetcherContract,
    ParserContract,
    ReportFormatterContract,
    RerankerContract,
    SearchStrategyContract,
    SynthesizerContract,
)


def ways(names: str) -> pytest.MarkDecorator:
    """Give each test of a class these ways of being wrong; one is none."""
    return pytest.mark.parametrize("how", names.split())


BLOCKS = {
    "outside": (Block(kind="paragraph", start=5, end=9999),),
    "overlap": (Block(kind="paragraph", start=0, end=6), Block(kind="paragraph", start=5, end=12)),
}


class Several:
    def __init__(self, how: str) -> None:
        self.how = how

    def accepts(self, text: str, /) -> Any:
        if self.how == "accepts_raises":
            raise KeyError(text)
        return "yes" if self.how == "accepts_yes" else text in ("text/x", "x:1", "data")

    async def fetch(self, request: Any, call: Any, /) -> Any:
        if request.accept:
            raise Unsupported("has no pictures")
        size = request.size if self.how != "too_large" else None
        return Blob(name="x", media_type="" if self.how == "no_type" else "text/x", data=b"nine fathoms"[:size])

    async def parse(self, blob: Any, call: Any, /) -> Any:
        if self.how == "breaks":
            return Document(text=blob.data.decode(), pages=(0,))
        return Document(
            text=blob.data.decode(errors="replace"),
            pages=(9000,) if self.how == "pages" else (),
            blocks=BLOCKS.get(self.how, ()),
        )

    async def format(self, report: Any, call: Any, /) -> Any:
        if self.how == "writes":
            Path("out.txt").touch()
        if self.how == "unsafe_link":
            page = f"<a href='{report.sources[0].hit.url}'>source</a>".encode()
            return Files(files=(Blob(name="x.html", media_type="text/html", data=page),))
        if self.how == "typo":
            return Blob(name="x", media_typ="text/plain", data=b"")  # type: ignore[call-arg]
        name = {"escapes": "../x.txt", "absolute": "/x.txt", "journal": "journal.sqlite"}.get(self.how, "x.txt")
        count = {"no_files": 0, "twice": 2}.get(self.how, 1)
        return Files(files=(Blob(name=name, media_type="text/plain", data=report.title.encode()),) * count)

    async def draw(self, chart: Any, call: Any, /) -> Any:
        media = {"image/png": b"nothing"} if self.how == "no_png" else {"image/svg+xml": b"<svg/>"}
        name = "other" if self.how == "other_id" else chart.id
        return Figure(id=name, caption="c", alt="a", media={} if self.how == "no_media" else media)

    async def synthesize(self, request: Any, call: Any, /) -> Any:
        texts = {"uncited": "It is deep.", "invented": "It is deep. [@nosuch]"}
        text = texts.get(self.how, "".join(f"{item.quote} [@{item.id}]" for item in request.book.evidence))
        sections = [section.model_copy(update={"text": text}) for section in request.wanted]
        if self.how == "other_id":
            sections[0] = sections[0].model_copy(update={"id": "other"})
        return Synthesis(sections=tuple(sections))

    async def embed(self, request: Any, call: Any, /) -> Any:
        vectors: list[tuple[float, ...]] = [(float(len(text)), 1.0) for text in request.texts]
        if self.how == "fewer":
            vectors = vectors[:1]
        if self.how == "uneven":
            vectors = [vector * (place + 1) for place, vector in enumerate(vectors)]
        if self.how == "nan":
            vectors = [(float("nan"),) for _ in vectors]
        return Embeddings(vectors=tuple(vectors))

    async def rerank(self, request: Any, call: Any, /) -> Any:
        return Ranking(scores=(1.0,) * (1 if self.how == "fewer_scores" else len(request.texts)))

    async def judge(self, request: Any, call: Any, /) -> Any:
        quotes = {one.id: one.quote for one in request.passages}
        found = [
            Judgement(
                claim_id=claim.id,
                verdict="supported",
                quote=quotes[claim.evidence_ids[0]],
                evidence_id=claim.evidence_ids[0],
            )
            for claim in request.claims
            if claim.evidence_ids
        ]
        changes: dict[str, dict[str, Any]] = {
            "unasked": {"claim_id": "9.9"},
            "unquoted": {"quote": ""},
            "misquotes": {"quote": "Nine leagues."},
            "uncited_passage": {"evidence_id": "e9"},
            "oversure": {"confidence": 90.0},
        }
        made = [one.model_copy(update=changes.get(self.how, {})) for one in found]
        if self.how == "credulous" and not request.passages:
            made = [
                Judgement(claim_id=claim.id, verdict="supported", quote="", evidence_id="") for claim in request.claims
            ]
        return Judgements(judgements=tuple(made * (2 if self.how == "judges_twice" else 1)))

    async def search(self, request: Any, engines: Any, call: Any, /) -> Any:
        asked = [asyncio.ensure_future(engine(request)) for engine in engines.values()]
        if self.how == "lets_run":
            await asyncio.wait(asked)
            replies = [task.exception() or task.result() for task in asked]
        else:
            replies = await asyncio.gather(*asked, return_exceptions=True)
        failed = [reply for reply in replies if isinstance(reply, Exception)]
        if failed and (self.how == "gives_up" or len(failed) == len(replies)):
            if self.how == "empty":
                return SearchPage()
            raise (ValueError("all failed") if self.how == "hides" else ExceptionGroup("all failed", failed))
        hits = {hit.url: hit for page in replies if isinstance(page, SearchPage) for hit in page.hits}
        if self.how == "invents":
            hits["made:up"] = Hit(url="made:up")
        return SearchPage(hits=tuple(hits.values())[: None if self.how == "many" else request.limit])


class _Offered:
    kind: str

    @pytest.fixture
    def offer(self, how: str) -> Offer[Any]:
        return offers_of(KINDS[self.kind]("Several things")(lambda: Several(how)))[self.kind]


@ways("good accepts_raises accepts_yes too_large no_type")
class TestFetch(_Offered, FetcherContract):
    @pytest.fixture
    def requests(self) -> Sequence[FetchRequest]:
        return [FetchRequest(url="x:1")]


@ways("good breaks pages outside overlap")
class TestParse(_Offered, ParserContract):
    @pytest.fixture
    def requests(self) -> Sequence[Blob]:
        return [Blob(name="x", media_type="text/x", data=b"nine fathoms")]


@ways("good escapes absolute journal no_files twice writes unsafe_link typo")
class TestFormat(_Offered, ReportFormatterContract):
    pass


@ways("good no_png no_media other_id")
class TestDraw(_Offered, ChartRunnerContract):
    pass


@ways("good uncited invented other_id")
class TestSynthesize(_Offered, SynthesizerContract):
    pass


@ways("good fewer uneven nan")
class TestEmbed(_Offered, EmbedderContract):
    pass


@ways("good gives_up empty hides invents many lets_run")
class TestStrategy(_Offered, SearchStrategyContract):
    pass


@ways("good fewer_scores")
class TestRerank(_Offered, RerankerContract):
    pass


@ways("good unasked unquoted misquotes uncited_passage oversure judges_twice credulous")
class TestJudge(_Offered, ClaimJudgeContract):
    pass
