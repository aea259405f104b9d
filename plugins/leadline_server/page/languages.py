"""The languages of the page: English in templates, code and scripts; `translations` has the others, by English text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

# Their names in themselves.
LANGUAGES: Mapping[str, str] = {"en": "English", "zh": "中文", "ja": "日本語"}
COOKIE = "leadline_language"
_SECONDS = 365 * 86_400
_RANGE = re.compile(r"([a-z]{1,8})(?:-[\w-]*)?\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?))?\s*(?:,|$)")
# That of the page that is being rendered.
_chosen = ContextVar("language", default="en")


def choose(request: Request) -> str:
    """Render what follows in the language of the reader: as chosen before, else by the browser, else English."""
    wanted = [request.cookies.get(COOKIE, ""), *accepted(request.headers.get("accept-language", ""))]
    language = next((name for name in wanted if name in LANGUAGES), "en")
    _chosen.set(language)
    return language


def accepted(header: str) -> list[str]:
    """Return the languages of a header `Accept-Language` without regions, the best first."""
    ranges = [(float(quality or 1), name) for name, quality in _RANGE.findall(header.lower())]
    return [name for quality, name in sorted(ranges, key=lambda item: -item[0]) if quality]


def switched(request: Request) -> Response | None:
    """Return the way to the same page in the language that its address asks for; None if it asks for none."""
    language = request.query_params.get("language", "")
    if language not in LANGUAGES:
        return None
    target = request.url.remove_query_params("language")
    reply = RedirectResponse(f"{target.path}?{target.query}".rstrip("?"), 303)
    secure = request.url.scheme == "https"
    reply.set_cookie(COOKIE, language, _SECONDS, secure=secure, httponly=True, samesite="lax")
    return reply


def translate(text: str, otherwise: str = "") -> str:
    """Return a text in the language of the page; if it has none there, in English, or `otherwise`."""
    return translations(_chosen.get()).get(text, otherwise or text)


def gettext(text: str, **values: object) -> str:
    """Return a text in the language of the page, with its values."""
    return translate(text) % values if values else translate(text)


@cache
def translations(language: str) -> Mapping[str, str]:
    """Return the texts of a language by the English ones; of English none."""
    if language == "en":
        return {}
    return tomllib.loads(files(__package__).joinpath("translations", f"{language}.toml").read_text("utf-8"))
