"""Templates, static files, and the headers of pages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from leadline.display import visible
from leadline.rendering import VERDICTS, plain_title, readable_url
from leadline.run_summary import ACTIVE
from leadline_server.access import Identity
from leadline_server.openai.turns import CHAT, REQUEST, TAGS
from leadline_server.page import languages, wording
from leadline_server.page.forms import FIELD, form_token, keep_token, tag_text
from leadline_server.page.languages import gettext
from leadline_server.problems import Problem
from leadline_server.remedies import for_readers

# Everything a page needs comes from this server; nothing runs that is not in `static`.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    # Browsers send no Origin with a form under `no-referrer`.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
# Hints that begin so tell a program what to request; the page has links instead.
_REQUESTS = ("GET ", "POST ", "DELETE ", "its `files` ")
# A text of a script.
SCRIPT_TEXT = re.compile(r'\b_\("([^"]+)"')
_STATIC = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "documents.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


class Templates:
    """The templates, with the filters that they use."""

    def __init__(self) -> None:
        env = Environment(
            loader=PackageLoader("leadline_server.page"),
            autoescape=True,
            undefined=StrictUndefined,
            extensions=["jinja2.ext.i18n"],
            trim_blocks=True,
            lstrip_blocks=True,
        )
        env.install_gettext_callables(languages.translate, wording.plural, newstyle=True)  # type: ignore[attr-defined]
        for function in (wording.money, wording.duration, wording.count, wording.plural, wording.day, wording.iso):
            env.filters[function.__name__] = function
        env.filters |= {
            "printable": lambda text: visible(str(text)),
            "link": wording.target,
            "place": lambda url: visible(readable_url(url)),
            "one_title": lambda text: visible(plain_title(text)),
            "strong": lambda text: Markup("<b>{}</b>{}{}").format(*str(text).partition(" ")),
            "stage": wording.stage,
            "outcome": wording.outcome,
            "translated": gettext,
            "own_tags": own_tags,
            "tag_text": tag_text,
            "sentence": _sentence,
            "readable": for_readers,
            "rough": wording.rough,
            "shortfall": wording.shortfall,
            "marked": _marked,
            "site": wording.site,
            "shortcomings": wording.shortcomings,
            "message": lambda problem: gettext(problem.message, **problem.data),
            "hint": lambda problem: "" if problem.hint.startswith(_REQUESTS) else gettext(problem.hint, **problem.data),
            "segment": lambda text: quote(text, safe=","),
        }
        env.globals |= {
            "static": static_address,
            "page_languages": languages.LANGUAGES,
            "verdicts": VERDICTS,
            "statuses": wording.STATUSES,
            "active_statuses": ACTIVE,
            "stage_states": wording.STAGE_STATES,
            "tiers": wording.TIERS,
            "coverage": wording.COVERAGE,
            "form_field": FIELD,
        }
        self.environment = env

    def page(self, request: Request, name: str, status: int = 200, **values: Any) -> Response:
        """Return a page made from a template."""
        identity: Identity | None = getattr(request.state, "identity", None)
        language = languages.choose(request)
        about = {
            "language": language,
            "address": request.url,
            "script_words": _script_words(language),
            "path": request.url.path,
            "request_id": getattr(request.state, "request_id", ""),
            "principal": identity.principal if identity else None,
            "role": identity.role if identity else "",
            "has_session": bool(identity and identity.session),
            "form_value": form_token(request),
        }
        html = self.environment.get_template(name).render(**about, **values)
        reply = HTMLResponse(html.encode("utf-8", "replace"), status, _HEADERS)
        keep_token(request, reply)
        return reply

    def problem(self, request: Request, problem: Problem) -> Response:
        """Return an error as a page."""
        reply = self.page(request, "problem.html", problem.status, problem=problem)
        for name, value in problem.headers.items():
            if name.lower() != "www-authenticate":
                reply.headers[name] = value
        return reply


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", "…", "。", "！", "？")) else ".")


def _marked(text: str, query: str) -> Markup:
    """Return a text in which the words of a search are marked."""
    words = "|".join(re.escape(word) for word in sorted(query.split(), key=len, reverse=True))
    text = re.sub(r"#+ |[*`]+", "", text)  # of Markdown
    parts = re.split(f"({words})", text, flags=re.IGNORECASE) if words else [text]
    marks = (Markup('<mark class="is-quoted">{}</mark>').format(part) for part in parts[1::2])
    return Markup("").join(piece for pair in zip(parts[::2], [*marks, ""], strict=True) for piece in pair)


def own_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the tags of a run without those by which the endpoint for chats finds it again."""
    is_chat = {CHAT, REQUEST} <= {*tags}
    return {key: value for key, value in tags.items() if not (is_chat and key in TAGS)}


def static_file(name: str) -> Response:
    """Return a style sheet, script or icon. Raises `Problem`."""
    if name not in _STATIC:
        raise Problem(404, "not_found", "there is no such file")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(_content(name), media_type=_STATIC[name], headers=headers)


@cache
def static_address(name: str) -> str:
    """Return the address of a static file, which changes with its content."""
    return f"/static/{name}?{hashlib.sha256(_content(name)).hexdigest()[:12]}"


@cache
def _script_words(language: str) -> dict[str, str]:
    """Return the texts of the scripts in a language other than English."""
    scripts = "".join(_content(name).decode() for name in _STATIC if name.endswith(".js"))
    known = languages.translations(language)
    return {text: known[text] for text in SCRIPT_TEXT.findall(scripts) if text in known}


@cache
def _content(name: str) -> bytes:
    return files("leadline_server.page").joinpath("static", name).read_bytes()
