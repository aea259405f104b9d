"""What clients send: the records of requests, the settings that they may change, and how a body is read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError, model_validator
from starlette.requests import ClientDisconnect, Request

from leadline.display import choose_from
from leadline.settings import Settings
from leadline_server.problems import Problem

# Nothing else becomes the path of a run.
RUN_ID = re.compile(r"[0-9a-f]{8}_[0-9]{8}_[0-9]{6}")
# Seconds in which a body must arrive, and a file.
BODY_TIMEOUT, UPLOAD_TIMEOUT = 30.0, 600.0
# Settings that a request may change: they choose the extent and the form of a report. None names a folder, a key, an
# address, a plugin or a program; those are the operator's.
ALLOWED = (
    "language",
    "preset",
    "plan.approve",
    "research.first_queries",
    "research.followup_queries",
    "research.max_queries",
    "research.pages_per_query",
    "report.length",
    "report.title",
    "report.references",
    "report.resource_file",
    "report.citation_images",
    "report.figures",
    "verify.unsupported",
    "verify.require_support",
    "charts.max",
    "memory",
)
# Settings that a request may lower.
LOWERED = (
    *("budget.model_calls", "budget.tokens", "budget.money", "budget.seconds"),
    *("research.max_queries", "research.pages_per_query", "charts.max"),
)
# Those by which a request chooses one of the models that its user may choose.
MODELS = ("ai.roles.thinking", "ai.roles.task")
Name = Annotated[str, StringConstraints(max_length=200)]
Words = Annotated[str, StringConstraints(max_length=1_000)]
# A little more than a question may have, whose error is clearer.
Long = Annotated[str, StringConstraints(max_length=30_000)]


class RequestBody(BaseModel):
    """The base of request bodies: an unknown field is an error, and a field that is null is not given."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        return {key: value for key, value in given.items() if value is not None} if isinstance(given, dict) else given


class NewRun(RequestBody):
    """A question with the pipeline, settings and formats for its run."""

    question: Long
    pipeline: Name = ""
    set: dict[Name, JsonValue] = Field({}, max_length=50)
    """Settings of the run by dotted key. Requests may change only a few: see `GET /v1/settings`."""
    formats: list[Name] = Field([], max_length=20)
    tags: dict[Name, Words] = Field({}, max_length=20)
    conversation: Name = ""
    """The id of a conversation, whose last run this one follows; a new id begins a conversation."""
    follows: Name = ""
    """The id of the run that this one follows, instead of the last one."""
    documents: list[Name] | None = Field(None, max_length=1_000)
    """Documents to search, by id, name or folder: all without this field, none if it is empty."""
    web: bool = True
    """Whether the web is searched, as far as the server searches it."""
    webhook: Words = ""
    """The address that gets a signed POST when the run ends or waits for an answer, if the operator allows webhooks."""
    mail: bool = False
    """Whether the user gets mail then, at the address that the operator or the login gave."""


class NewAnswer(RequestBody):
    """An answer to a question of a run."""

    question_id: Name
    action: Literal["accept", "decline", "cancel"] = "accept"
    content: dict[Name, JsonValue] = Field({}, max_length=100)


class ChangedDocuments(RequestBody):
    """Documents by id, name or folder: to set aside for a day, or to restore; to share with all users, or no more."""

    names: list[Name] = Field(min_length=1, max_length=1_000)
    to: Literal["removed", "restored", "shared", "private"]


class Reason(RequestBody):
    """Why a run is stopped or cancelled."""

    reason: Words = ""


class Resume(RequestBody):
    """How a run is continued; `retry_failed` repeats all failed calls."""

    retry_failed: bool = False


class Labels(RequestBody):
    """The name, the pin and the tags of a run that has ended; what is not given stays, and tags replace all."""

    title: Name | None = None
    pinned: bool | None = None
    tags: dict[Name, Words] | None = Field(None, max_length=20)


class NewShare(RequestBody):
    """Who may read a report by its link: whoever logs in, or anyone; after `days` it ends, never if they are 0."""

    audience: Literal["team", "anyone"] = "team"
    days: int = Field(0, ge=0, le=3_660)


class Login(RequestBody):
    """A token that a browser exchanges for a session."""

    token: Words


Body = TypeVar("Body", bound=BaseModel)


def checked(model: type[Body], **fields: Any) -> Body:
    """Return the record of fields that did not come as JSON. Raises `Problem`."""
    try:
        return model(**fields)
    except ValidationError as error:
        raise invalid(error) from None


def order(**fields: Any) -> NewRun:
    """Return an order that other requests, forms and tools make up. Raises `Problem`."""
    return checked(NewRun, **fields)


async def read_body(request: Request, limit: int, seconds: float = BODY_TIMEOUT) -> bytes:
    """Return the body. Raises `Problem` if it is too long or too slow."""
    close = {"Connection": "close"}  # the rest of the body is not read
    too_large = Problem(413, "too_large", f"the body has more than {limit:,} bytes", headers=close)
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > limit:
        raise too_large
    data = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                data += piece
                if len(data) > limit:
                    raise too_large
    except TimeoutError:
        message = f"the body did not arrive within {seconds:g} s"
        raise Problem(408, "timeout", message, headers=close) from None
    except ClientDisconnect:
        raise Problem(400, "disconnected", "the client disconnected") from None
    return bytes(data)


async def read(request: Request, model: type[Body], limit: int, *, optional: bool = False) -> Body:
    """Return the JSON body as a record; with `optional`, a request without a body is an empty object."""
    data = await read_body(request, limit)
    if optional and not data:
        return model()
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Problem(415, "media_type", "send JSON", "Content-Type: application/json")
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        raise invalid(error) from None


def invalid(error: ValidationError) -> Problem:
    """Return the error for a body with wrong fields."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    if errors[0]["type"] == "json_invalid":
        return Problem(400, "invalid_json", f"the body is not JSON: {errors[0]['msg'].lower()}")
    texts = [": ".join(filter(None, (_path(fault["loc"]), _fault(fault["msg"])))) for fault in errors[:5]]
    return Problem(422, "invalid_request", "; ".join(texts), "GET /openapi.json describes every request")


def _path(places: tuple[int | str, ...]) -> str:
    return ".".join(map(str, places))


def _fault(message: str) -> str:
    return message.lower().removeprefix("value error, ")


def overrides(body: NewRun, settings: Settings, models: Collection[str] = ()) -> dict[str, Any]:
    """Return the settings of a run that a request asks for. Raises `Problem` for those that it may not change.

    `models` are those that it may choose.
    """
    for key, value in body.set.items():
        if key in MODELS and models:
            if value not in models:
                raise Problem(
                    403, "model_not_allowed", f"set: {key} may not be {value!r}", f"one of: {', '.join(models)}"
                )
            continue
        if key not in {*ALLOWED, *LOWERED}:
            raise Problem(
                403, "setting_not_allowed", f"set: {key!r} cannot be changed by a request", choose_from(key, ALLOWED)
            )
        if key in LOWERED:
            _refuse_higher(key, value, settings)
    values: dict[str, Any] = dict(body.set)
    if body.pipeline:
        if body.pipeline not in settings.pipelines:
            known = choose_from(body.pipeline, settings.pipelines)
            raise Problem(422, "unknown_pipeline", f"there is no pipeline {body.pipeline!r}", known)
        values["pipeline"] = body.pipeline
    if body.formats:
        values["report.formats"] = list(dict.fromkeys(body.formats))
    return values


def _refuse_higher(key: str, value: JsonValue, settings: Settings) -> None:
    table, _, name = key.partition(".")
    limit = getattr(getattr(settings, table), name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= limit:
        raise Problem(
            403, "setting_not_allowed", f"set: {key} may be a number up to {Decimal(str(limit)).normalize():f}"
        )
