"""What an endpoint says when it does not answer.

Vendors share the form `{"error": {"message", "type", "code", "param"}}` and little else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Refusal:
    """An answer that is an error: its status (0 inside a stream), and what it says."""

    status: int
    message: str = ""
    code: str = ""
    kind: str = ""
    param: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """All that tells what is wrong."""
        return " ".join(filter(None, (self.message, self.code, self.kind, self.param)))


def refusal(status: int, body: bytes, headers: Mapping[str, str]) -> Refusal:
    """Read the answer to a request that was refused, whatever form it has."""
    text = body.decode("utf-8", "replace").strip()
    try:
        data = json.loads(text)
    except ValueError:
        return Refusal(status, _plain(text), headers=headers)
    return told(data, status, headers) or Refusal(status, text, headers=headers)


def told(data: Any, status: int = 0, headers: Mapping[str, str] | None = None) -> Refusal | None:
    """Return the refusal that decoded JSON holds, in one of the vendors' forms; None where it holds none."""
    if isinstance(data, list) and len(data) == 1:  # Gemini's endpoint wraps its errors so
        data = data[0]
    if not isinstance(data, dict):
        return None
    error = data.get("error") or data.get("detail") or (data if _is_error(data, status) else None) or _minimax(data)
    if error is None:
        return None
    headers = {**_loading(data), **(headers or {})}
    if not isinstance(error, dict):
        return Refusal(status, error if isinstance(error, str) else json.dumps(error), headers=headers)
    code = error.get("code")
    inner = code if isinstance(code, int) else error.get("status_code")
    return Refusal(
        status if status >= 400 else inner if isinstance(inner, int) and 400 <= inner < 600 else 0,
        _message(error),
        str(code or ""),
        str(error.get("type") or error.get("status") or ""),
        str(error.get("param") or ""),
        {**headers, **_inner_headers(error)},
    )


def _is_error(data: Mapping[str, Any], status: int) -> bool:
    """Tell whether the whole of an answer is the error: vLLM's, an event of responses, Z.ai's with status 200."""
    if data.get("object") == "error" or (status >= 400 and "message" in data):
        return True
    if data.get("type") == "error" and "message" in data:
        return True
    return "msg" in data and data.get("code") not in (None, 0, 200, "0", "200") and "choices" not in data


def _minimax(data: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the error that MiniMax puts beside an empty reply, with status 200."""
    base = data.get("base_resp")
    if not isinstance(base, dict) or not base.get("status_code"):
        return None
    return {"message": base.get("status_msg"), "code": str(base["status_code"])}


def _loading(data: Mapping[str, Any]) -> dict[str, str]:
    """Return what stands in place of Retry-After where Hugging Face loads a model."""
    seconds = data.get("estimated_time")
    return {"retry-after": str(seconds)} if isinstance(seconds, int | float) else {}


def _message(error: Mapping[str, Any]) -> str:
    message = error.get("message") or error.get("msg") or ""
    text = message if isinstance(message, str) else json.dumps(message)
    about = error.get("metadata")  # OpenRouter: what the vendor behind it said
    raw = about.get("raw") if isinstance(about, dict) else None
    return f"{text}: {raw}" if isinstance(raw, str) and raw else text


def _inner_headers(error: Mapping[str, Any]) -> dict[str, str]:
    """Return what stands inside in place of headers: OpenRouter's metadata, Gemini's details."""
    about, details = error.get("metadata"), error.get("details")
    headers = about.get("headers") if isinstance(about, dict) else None
    inner = {str(name).lower(): str(value) for name, value in headers.items()} if isinstance(headers, dict) else {}
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and "retryDelay" in detail:
            inner["retry-after"] = str(detail["retryDelay"])
    return inner


def _plain(text: str) -> str:
    """Return the words of an answer that is no JSON: of a web page its title."""
    if "<html" not in text[:1000].lower() and "<!doctype" not in text[:1000].lower():
        return text
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    return f"a web page, {' '.join(title[1].split())!r}" if title else "a web page"
