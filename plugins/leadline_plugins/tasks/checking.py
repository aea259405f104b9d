"""Whether passages bear the claims they are cited for, and how to say those that they do not: typed tasks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from leadline.records import Record, Text


class PassageToRead(Record):
    """A passage by its id, with the headings over it and the sentences about it, which may tell whom it speaks of."""

    id: str
    under: Text = ""
    before: Text = ""
    text: Text
    behind: Text = ""


class SourceToRead(Record):
    """A source by its title, with those of its passages that claims are held against."""

    title: Text = ""
    passages: tuple[PassageToRead, ...] = ()


class ClaimToVerify(Record):
    """A claim and the ids of the passages it is held against.

    It stands `under` headings and between the sentences `before` and `behind` it; `whole` is the sentence that it is a
    part of. What rules `found` against it is asked about.
    """

    id: str
    claim: Text
    passages: tuple[str, ...]
    under: Text = ""
    before: Text = ""
    behind: Text = ""
    whole: Text = ""
    found: Text = ""


class VerifyRequest(Record):
    """Asks whether passages bear the claims they are cited for."""

    claims: tuple[ClaimToVerify, ...]
    sources: tuple[SourceToRead, ...] = ()


class ClaimToRepair(ClaimToVerify):
    """A claim that its passages do not bear, with the verdict on it and why."""

    verdict: Text = ""
    reason: Text = ""


class RepairRequest(Record):
    """Asks to say claims anew, in a language, so that the passages they cite bear them."""

    language: str
    claims: tuple[ClaimToRepair, ...]
    sources: tuple[SourceToRead, ...] = ()


class Reworded(Record):
    """A claim said anew, by its id."""

    id: str
    text: Text


class Rewordings(Record):
    """Claims said anew; those of which nothing is left that the passages bear are left out."""

    claims: tuple[Reworded, ...] = ()


class ClaimVerdict(Record):
    """What a model says of one claim that is not supported in all its parts, or states nothing, by its id.

    Or against which rules found something: if it is supported all the same, `words` of a passage say so.
    """

    id: str
    verdict: Literal["supported", "partial", "contradicted", "unsupported", "remark"]
    reason: Text = ""
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.5
    words: Text = ""


class ClaimVerdicts(Record):
    """The verdicts: most claims are supported, and those are a list of ids, with how sure the model is of them."""

    supported: tuple[str, ...] = ()
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.5
    others: tuple[ClaimVerdict, ...] = ()
