"""What browsers send: forms, read with the same limits as other bodies, and safe from requests of other sites.

The origin of every request is checked before (`leadline_server.access`). Here, a form must also carry the value of a
cookie that no other site can read or set: `SameSite=Strict`, `HttpOnly`.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qs

from pydantic import JsonValue
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from leadline.records import Answer, Blob
from leadline.runs import Order
from leadline_server.documents import NO_DOCUMENTS
from leadline_server.problems import Problem
from leadline_server.requests import MODELS, UPLOAD_TIMEOUT, NewRun, order, read_body
from leadline_server.views import RunView

# Settings that the form to ask has fields for.
FIELDS = (
    *("language", "report.length", "research.max_queries", "budget.money", "plan.approve", "verify.require_support"),
    *MODELS,
)
COOKIE = "leadline_form"
FIELD = "form_token"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
_MOST_FIELDS = 1_100
_SECONDS = 30 * 86_400
_BYTES = "application/octet-stream"

Form = Mapping[str, list[str]]


def form_token(request: Request) -> str:
    """Return the value that forms of this browser must carry."""
    token: str = getattr(request.state, "form_token", "") or request.cookies.get(COOKIE, "")
    if not _TOKEN.fullmatch(token):
        token = secrets.token_urlsafe(32)
    request.state.form_token = token
    return token


def keep_token(request: Request, reply: Response) -> None:
    """Send the cookie of the forms that a reply has."""
    token = getattr(request.state, "form_token", "")
    if token and request.cookies.get(COOKIE) != token:
        secure = request.url.scheme == "https"
        reply.set_cookie(COOKIE, token, max_age=_SECONDS, path="/", secure=secure, httponly=True, samesite="strict")


async def read_form(request: Request, limit: int) -> Form:
    """Return the fields of a form. Raises `Problem` if it is not one of this site."""
    data = await read_body(request, limit)
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/x-www-form-urlencoded":
        raise Problem(415, "media_type", "this address takes a form")
    try:
        fields = parse_qs(data.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise Problem(400, "invalid_form", "the form cannot be read") from None
    _check_token(request, first(fields, FIELD))
    return fields


async def read_files(request: Request, limit: int) -> list[Blob]:
    """Return the files of a form, without empty ones. Raises `Problem` if it is not one of this site, or too long."""
    length = request.headers.get("content-length", "")
    if not length.isdecimal() or int(length) > limit:
        close = {"Connection": "close"}  # the rest of the body is not read
        megabytes = f"{limit / 1e6:,.0f}"
        raise Problem(413, "too_large", "the files have more than %(size)s MB", headers=close, size=megabytes)
    try:
        async with (
            asyncio.timeout(UPLOAD_TIMEOUT),
            request.form(max_files=_MOST_FIELDS, max_fields=_MOST_FIELDS) as form,
        ):
            _check_token(request, str(form.get(FIELD, "")))
            files = [file for file in form.getlist("file") if isinstance(file, UploadFile) and file.filename]
            folder = str(form.get("collection", "")).strip().strip("/")
            return [
                Blob(
                    name="/".join(filter(None, (folder, file.filename))),
                    media_type=file.content_type or _BYTES,
                    data=await file.read(),
                )
                for file in files
            ]
    except (ClientDisconnect, HTTPException, TimeoutError, UnicodeError):  # of a charset that the form names
        raise Problem(400, "invalid_form", "the form cannot be read, or did not arrive in time") from None


def _check_token(request: Request, given: str) -> None:
    known = request.cookies.get(COOKIE, "")
    if not _TOKEN.fullmatch(known) or not hmac.compare_digest(given.encode(), known.encode()):
        message = "the form is too old, or it was not made by this server"
        raise Problem(403, "form_token", message, "go back, load the page again, and send it again")


def first(form: Form, name: str, default: str = "") -> str:
    """Return a field of a form, with the line ends of Python."""
    return (form.get(name) or [default])[0].replace("\r\n", "\n")


def new_run(form: Form) -> NewRun:
    """Return the order that a form describes. Raises `Problem`."""
    changed: dict[str, JsonValue] = {}
    for name, values in form.items():
        if name.startswith("set.") and (text := values[-1].strip()):
            changed[name.removeprefix("set.")] = _value(text)
    pipeline, _, preset = first(form, "pipeline").partition(" ")
    if preset:
        changed["preset"] = preset
    if first(form, "documents") == "some" and not form.get("document"):
        raise Problem(422, "invalid_request", "select one or more documents, or choose all")
    return order(
        question=first(form, "question").strip(),
        pipeline=pipeline,
        set=changed,
        tags=tags(first(form, "tags")),
        follows=first(form, "follows"),
        documents={"none": [], "some": form.get("document", [])}.get(first(form, "documents")),
        web="sources" not in form or "web" in form,
        webhook=first(form, "webhook").strip(),
        mail="mail" in form,
    )


def _value(text: str) -> JsonValue:
    """Return a setting as a number if it is one, or on and off as booleans."""
    if text in ("on", "off"):
        return text == "on"
    if re.fullmatch(r"\d{1,12}", text):
        return int(text)
    if re.fullmatch(r"\d{0,9}\.\d{1,9}", text):
        return float(text)
    return text


def tags(text: str) -> dict[str, str]:
    """Return tags that are written as `name=value, name=value`."""
    pairs = (part.partition("=") for part in text.split(",") if part.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def tag_text(tags: Mapping[str, str]) -> str:
    """Return tags as a form writes them."""
    return ", ".join(f"{name}={value}" if value else name for name, value in tags.items())


def of_run(view: RunView, order: Order | None, web: Collection[str]) -> dict[str, list[str]]:
    """Return the form that asks a run's question again, as far as its order is known; `web` are engines of the web."""
    form = {"question": [view.question], "pipeline": [view.pipeline], "tags": [tag_text(view.tags)]}
    form["follows"] = [view.follows]
    if order is None:
        return form

    def given(key: str) -> Any:
        path = next((name for name in (key, f"plugins.{key}") if name in order.given), "")  # of a stage
        value: Any = order.settings if path else {}
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value

    form["pipeline"] = [f"{order.pipeline} {given('preset') or ''}".strip()]
    for key in FIELDS:
        if (value := given(key)) not in (None, False):
            form[f"set.{key}"] = ["on" if value is True else str(value)]
    if documents := given("knowledge.documents"):
        form["documents"], form["document"] = ["none" if documents == [NO_DOCUMENTS] else "some"], documents
    if (engines := given("search.engines")) and not {*engines} & {*web}:
        form["sources"] = ["1"]
    return form


def answer(form: Form) -> Answer:
    """Return the answer to a question of a run. The names of its fields are `answer.TYPE.NAME`. Raises `Problem`.

    The types come with the form: it can be sent while its run is between two workers and has no open question.
    """
    action = first(form, "action", "accept")
    if action == "decline":
        return Answer(action="decline")
    fields = [(name.split(".", 2), values[-1]) for name, values in form.items() if name.startswith("answer.")]
    content = {parts[2]: _typed(text, parts[1]) for parts, text in fields if len(parts) == 3}
    given = {name: value for name, value in content.items() if value is not None}
    if action != "accept" or not given:
        raise Problem(422, "invalid_request", "write an answer")
    return Answer(action="accept", content=given)


def _typed(text: str, kind: str) -> JsonValue:
    if kind == "boolean":
        return text == "on"
    if not text.strip():
        return None
    try:
        return int(text) if kind == "integer" else float(text) if kind == "number" else text.strip()
    except ValueError:
        raise Problem(422, "invalid_request", "the answer must be a number") from None
