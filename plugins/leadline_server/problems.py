"""Errors as replies: every one is a `{code, message, hint}` with a fitting status."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from leadline.errors import AlreadyAnswered, ConfigError, JournalBusy, LeadlineError, UsageError
from leadline.records import Record
from leadline_server.queue import QueueUnavailable
from leadline_server.remedies import for_readers

log = logging.getLogger("leadline.server")
# The beginnings of the paths whose clients expect errors in OpenAI's form.
OPENAI_PATHS = ("/v1/models", "/v1/chat/", "/v1/responses")
_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class ProblemBody(Record):
    """An error: a `code` for programs, a message for people, and a hint at what to do, which may be empty."""

    code: str
    message: str
    hint: str = ""


class OpenAIError(Record):
    """An error as clients of OpenAI's API read it: the hint is in the message."""

    message: str
    type: str
    param: str | None = None
    code: str


class OpenAIProblem(Record):
    """The reply with an error of the endpoint for clients of OpenAI's API."""

    error: OpenAIError


class Problem(Exception):
    """An error that is sent to the client; `data` are the values of `%(name)s` in message and hint."""

    def __init__(
        self, status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] = {}, **data: Any
    ) -> None:
        self.status, self.message, self.hint, self.data = status, message, hint, data
        message, hint = (text % data if data else text for text in (message, hint))
        super().__init__(message)
        self.body = ProblemBody(code=code, message=message, hint=hint)
        self.headers = dict(headers)

    def response(self, path: str = "") -> JSONResponse:
        """Return the reply to a request of this path, in the form that clients of the path expect."""
        record: Record = self.openai() if path.startswith(OPENAI_PATHS) else self.body
        return JSONResponse(record.model_dump(), self.status, self.headers)

    def openai(self) -> OpenAIProblem:
        """Return the error in the form of OpenAI's API."""
        body, kind = self.body, _OPENAI_TYPES.get(self.status, "invalid_request_error")
        message = f"{body.message} ({body.hint})" if body.hint else body.message
        error = OpenAIError(message=message, type="server_error" if self.status >= 500 else kind, code=body.code)
        return OpenAIProblem(error=error)


def no_such_run() -> Problem:
    """Return the error for an unknown run, which is the same for the run of another principal."""
    return Problem(404, "not_found", "there is no such run", "GET /v1/runs lists the runs")


def too_many(message: str, seconds: float, **data: Any) -> Problem:
    """Return the error for a limit that was reached; `seconds` until it is worth trying again."""
    wait = max(1, round(seconds + 0.5))
    headers = {"Retry-After": str(wait)}
    return Problem(429, "too_many_requests", message, "try again in %(seconds)s s", headers, seconds=wait, **data)


def problem_of(error: LeadlineError) -> Problem:
    if isinstance(error, AlreadyAnswered):
        return Problem(409, "already_answered", str(error))
    if isinstance(error, JournalBusy):  # its message names folders and processes of the server
        return Problem(409, "busy", "the run is active", "stop or cancel it first, or try again later")
    if isinstance(error, QueueUnavailable):
        wait = {"Retry-After": "5"}
        return Problem(503, "queue_unavailable", "the queue does not answer; nothing was changed", "try again", wait)
    if isinstance(error, ConfigError):
        return Problem(422, "settings", for_readers(str(error)), "GET /v1/settings lists the settings")
    if isinstance(error, UsageError):
        return Problem(422, "invalid_request", for_readers(str(error)))
    log.error("a request failed: %s", error)
    return Problem(500, "failed", "the request failed", "the log of the server has the details")
