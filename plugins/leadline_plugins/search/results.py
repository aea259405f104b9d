"""From a vendor's results to hits: what does not fit is left out, unless nothing fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from re import compile as regex
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from leadline.plaintext import text
from leadline.records import Hit
from leadline_plugins.search.http import Api

Lenient = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
"""Text, for which services send null as well."""
_ISO = regex(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?:[T ].*)?")
_HAN = regex(r"(\d{4})\s*年(?:\s*(\d{1,2})\s*月(?:\s*(\d{1,2})\s*日)?)?")
_WRITTEN = ("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%b %Y", "%B %Y")


class Result(BaseModel):
    """The base of one result as a service sends it."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


R = TypeVar("R", bound=Result)


def results(model: type[R], listed: object, api: Api) -> list[R]:
    """Return the results that fit the model. Raises `BadReply` where there is no list, or nothing in it fits."""
    if not isinstance(listed, list):
        raise api.bad("the answer holds no list of results")
    fitting, problem = [], ""
    for one in listed:
        try:
            fitting.append(model.model_validate(one))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    if problem and not fitting:
        raise api.bad(f"none of {len(listed)} results can be read ({problem})")
    return fitting


def hit(url: str, title: str = "", snippet: str = "", **more: Any) -> Hit:
    """Return a hit with title and snippet as plain text, and its date as ISO 8601."""
    more["published"] = day(more.get("published"))
    return Hit(url=url.strip(), title=text(title), snippet=text(snippet), **more)


def images(*addresses: str | None) -> tuple[str, ...]:
    """Return those that are addresses of the web, each once."""
    return tuple(dict.fromkeys(one for one in addresses if one and one.startswith(("https://", "http://"))))


def day(told: str | None) -> str | None:
    """Return a date as ISO 8601, as far as it is told: `2023`, `2023-01`, `2023-01-29`.

    None for what cannot be read without knowing the time: `3 days ago`.
    """
    line = (told or "").strip()
    if found := _ISO.fullmatch(line) or _HAN.fullmatch(line):
        return _checked([part for part in found.groups() if part])
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
    """Return the parts of a page as one snippet, each once."""
    return between.join(dict.fromkeys(part.strip() for part in parts if part and part.strip()))
