"""Hits from the results of a service, and their citation data in CSL-JSON; results that do not fit are skipped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from leadline.display import strip_markup
from leadline.records import Hit
from leadline_plugins.search.http import Api

# Text, for which some services send null.
Lenient = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
_ISO = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?:[T ].*)?")
_HAN = re.compile(r"(\d{4})\s*年(?:\s*(\d{1,2})\s*月(?:\s*(\d{1,2})\s*日)?)?")
_WRITTEN = ("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%b %Y", "%B %Y")


class Result(BaseModel):
    """The base of one result as a service sends it."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


R = TypeVar("R", bound=Result)


def results(model: type[R], listed: object, api: Api) -> list[R]:
    """Return the results that fit the model. Raises `BadReply` if there is no list, or none fits."""
    if not isinstance(listed, list):
        raise api.bad("the answer has no list of results")
    fitting, problem = [], ""
    for item in listed:
        try:
            fitting.append(model.model_validate(item))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    if problem and not fitting:
        raise api.bad(f"none of {len(listed)} results can be read ({problem})")
    return fitting


def hit(url: str, title: str = "", snippet: str = "", **more: Any) -> Hit:
    """Return a hit with title and snippet as plain text, and its date as ISO 8601."""
    more["published"] = day(more.get("published"))
    return Hit(url=url.strip(), title=strip_markup(title), snippet=strip_markup(snippet), **more)


def images(*addresses: str | None) -> tuple[str, ...]:
    """Return the web addresses, each once."""
    return tuple(
        dict.fromkeys(address for address in addresses if address and address.startswith(("https://", "http://")))
    )


def day(text: str | None) -> str | None:
    """Return a date as ISO 8601, as precise as it is: `2023`, `2023-01`, `2023-01-29`.

    None for a relative date: `3 days ago`.
    """
    line = (text or "").strip()
    if match := _ISO.fullmatch(line) or _HAN.fullmatch(line):
        return _checked([part for part in match.groups() if part])
    for form in _WRITTEN:
        try:
            when = datetime.strptime(line, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return when.strftime("%Y-%m-%d" if "%d" in form else "%Y-%m")
    return _of_mail(line)


def _checked(parts: Sequence[str]) -> str | None:
    year, month, day = (*map(int, parts), 1, 1)[:3]
    try:
        whole = date(year, month, day).isoformat()
    except ValueError:
        return None
    return whole[: (4, 7, 10)[len(parts) - 1]]


def _of_mail(line: str) -> str | None:
    try:
        return parsedate_to_datetime(line).date().isoformat()
    except (ValueError, TypeError, IndexError):
        return None


def joined(parts: Iterable[str], between: str = " … ") -> str:
    """Join the parts of a page to a snippet, each once."""
    return between.join(dict.fromkeys(part.strip() for part in parts if part and part.strip()))


_LATIN = re.compile(r"[A-Za-zÀ-ɏ.'’\- ]+")
# Authors that are kept; experiments have thousands.
_MOST_AUTHORS = 50


def authors(names: Iterable[str]) -> list[dict[str, str]]:
    """Return names as CSL-JSON."""
    return [author(name) for name in list(filter(None, names))[:_MOST_AUTHORS]]


def author(name: str) -> dict[str, str]:
    """Return the parts of a name; the family name of a Latin one is its last word, with `van der`."""
    words = name.split()
    if len(words) < 2 or not _LATIN.fullmatch(name):
        return {"literal": " ".join(words)}
    first = len(words) - 1
    while first > 1 and words[first - 1].islower():
        first -= 1
    return {"family": " ".join(words[first:]), "given": " ".join(words[:first])}


def issued(day: str | None) -> dict[str, Any]:
    """Return an ISO date as CSL-JSON; empty without a date."""
    parts = [int(part) for part in (day or "").split("-") if part.isdecimal()]
    return {"date-parts": [parts]} if parts else {}


def csl(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not empty; names have _ for -."""
    return {name.replace("_", "-"): value for name, value in fields.items() if value not in (None, "", [], {})}


def abstract(index: Mapping[str, Any] | None) -> str:
    """Return the text of an inverted index, which lists the places of each word."""
    placed = [
        (position, word)
        for word, positions in (index or {}).items()
        if isinstance(positions, list)
        for position in positions
        if isinstance(position, int)
    ]
    return " ".join(word for _, word in sorted(placed))
