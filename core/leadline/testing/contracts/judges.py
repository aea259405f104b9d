"""The contract of claim judges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from leadline.door.secrets import Secrets
from leadline.records import Claim, Judgements, JudgeRequest
from leadline.testing.context import FakeCall
from leadline.testing.contracts.base import PluginContract
from leadline.testing.contracts.conduct import must
from leadline.testing.contracts.reports import evidence, sources

_CLAIMS = (
    ("The harbour of Port Ellery is nine fathoms deep at the mole.", ("e0",)),
    ("A cable further out it is twelve fathoms deep.", ("e1", "e0")),
    ("Ships of nine fathoms were built there from 1771 on.", ("e2",)),
    ("海港很深。", ("e0", "e1", "e2")),
)


def _request(claims: Sequence[tuple[str, Sequence[str]]]) -> JudgeRequest:
    made = (
        Claim(id=f"1.{place}", section_id="1", text=text, span=(0, len(text)), evidence_ids=tuple(cited))
        for place, (text, cited) in enumerate(claims, start=1)
    )
    return JudgeRequest(claims=tuple(made), passages=evidence(), sources=sources(), language="en")


class ClaimJudgeContract(PluginContract[JudgeRequest, Judgements]):
    """What every claim judge does. Fixture: `offer`; `new_call`, where it asks its run for more than settings."""

    kind = "claim_judges"
    record = Judgements
    verb = "judge"

    @pytest.fixture
    def requests(self) -> Sequence[JudgeRequest]:
        """Return several claims, together and each alone."""
        return [_request(_CLAIMS), *(_request([claim]) for claim in _CLAIMS)]

    def check(self, request: JudgeRequest, reply: Judgements, call: FakeCall) -> None:
        """Check that each judgement is on a claim of the request, once, and quotes a passage that the claim cites."""
        cited = {claim.id: claim.evidence_ids for claim in request.claims}
        quotes = {one.id: f"{one.lead}\n{one.quote}" for one in request.passages}
        named = [one.claim_id for one in reply.judgements]
        must({*named} <= {*cited}, f"judges claims that it was not asked about: {sorted({*named} - {*cited})}")
        must(len({*named}) == len(named), f"judges a claim twice: {named}")
        for one in reply.judgements:
            must(0 <= one.confidence <= 1, f"is confident by {one.confidence}: it is a share, from 0 to 1")
            must(one.verdict != "supported" or bool(one.quote), f"supports claim {one.claim_id} without a quote")
            if one.quote:
                known = one.evidence_id in cited[one.claim_id]
                must(known, f"quotes passage {one.evidence_id!r}, which claim {one.claim_id} does not cite")
                first, *others = one.quote.split(" […] ")
                must(first in quotes.get(one.evidence_id, ""), f"quotes what its passage does not have: {first!r}")
                for words in others:
                    occurs = any(words in quotes.get(name, "") for name in cited[one.claim_id])
                    must(occurs, f"quotes what no cited passage has: {words!r}")

    async def test_a_claim_without_a_passage_is_not_supported(
        self, plugin: Any, new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        request = _request([(text, ()) for text, _ in _CLAIMS]).model_copy(update={"passages": (), "sources": ()})
        reply = await self.reply(plugin, request, new_call(), secrets)
        supported = [one.claim_id for one in reply.judgements if one.verdict == "supported"]
        must(not supported, f"supports claims that cite no passage: {supported}")

    async def test_no_claims_have_no_judgements(
        self, plugin: Any, new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        await self.reply(plugin, _request([]), new_call(), secrets)
