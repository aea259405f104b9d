"""Find configured secrets in requests, replies, errors and events, and mask them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus, unquote, urlsplit

from pydantic import JsonValue

from leadline.records import Notice

# Characters; a shorter secret is often a dummy key and a word (`lm-studio`).
SHORTEST = 16
MASK = "[secret]"
# Characters at the beginning of a secret by which a part of it is recognized.
_START = 12


def _forms(secret: str) -> Iterator[str]:
    yield secret
    if user := _userinfo(secret):
        yield base64.b64encode(user.encode()).decode()
    yield quote(secret, safe="")
    yield quote(secret)
    yield quote_plus(secret)
    yield repr(secret)[1:-1]
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]


def _userinfo(address: str) -> str:
    """Return `user:password` of an address, as it is sent in Base64; empty for any other text."""
    try:
        user, at, _ = urlsplit(address).netloc.rpartition("@")
    except ValueError:
        return ""
    return unquote(user) if at else ""


def _all_forms(values: Iterable[str]) -> list[str]:
    forms = {form for value in values if len(value) >= SHORTEST for form in _forms(value)}
    return sorted(forms, key=len, reverse=True)


def _pattern(forms: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(map(re.escape, forms))) if forms else None


class Secrets:
    """The configured secrets in plain, URL, repr and JSON forms, and `user:password` of an address in Base64.

    Messages of servers are cut, so the beginning of a secret is masked as well.

    `private` texts are masked in errors and events like secrets, but a request may contain them: they may be words of
    the question, such as the address of the user's own site.
    """

    def __init__(self, values: Iterable[str] = (), private: Iterable[str] = ()) -> None:
        values = tuple(values)
        secret = _all_forms(values)
        self._bytes = tuple(form.encode("utf-8", "replace") for form in secret)
        self._pattern = _pattern(secret)
        self._secret = secret
        self._starts = _pattern(sorted({form[:_START] for form in secret}))
        self._masked = _pattern(_all_forms((*values, *private)))

    def __repr__(self) -> str:
        return "Secrets(…)"

    def __bool__(self) -> bool:
        """True if there is any secret to find."""
        return self._pattern is not None

    def found_in(self, body: bytes) -> bool:
        """Return True if an encoded text holds a secret: a search in bytes is 15 times as fast as the pattern."""
        return any(form in body for form in self._bytes)

    def find(self, tree: JsonValue) -> str | None:
        """Return the path of the first secret in a decoded request."""
        pattern = self._pattern
        texts = _texts(tree, "request") if pattern else ()
        return next((path for path, text in texts if pattern and pattern.search(text)), None)

    def scrub(self, text: str) -> str:
        """Return the text with every form of every secret and private text masked."""
        if self._masked is None:
            return text
        if isinstance(text, Notice):
            return text.changed(self.scrub)
        return self._without_starts(self._masked.sub(MASK, text))

    def _without_starts(self, text: str) -> str:
        """Mask what is left of a secret in a message that was cut within it."""
        parts, end = [], 0
        while self._starts and (match := self._starts.search(text, end)):
            begin = match.start()
            parts += [text[end:begin], MASK]
            forms = self._secret
            end = begin + max(n for form in forms for n in range(len(form) + 1) if text.startswith(form[:n], begin))
        return "".join([*parts, text[end:]])

    def clean(self, tree: JsonValue) -> JsonValue:
        """Return decoded JSON with every text in it scrubbed."""
        match tree if self._masked else None:
            case str() as text:
                return self.scrub(text)
            case list() as items:
                return [self.clean(item) for item in items]
            case dict() as table:
                return {self.scrub(name): self.clean(item) for name, item in table.items()}
        return tree


def _texts(tree: JsonValue, path: str) -> Iterator[tuple[str, str]]:
    """Yield the texts in decoded JSON, names of fields included, with their paths."""
    match tree:
        case str():
            yield path, tree
        case list():
            for index, item in enumerate(tree):
                yield from _texts(item, f"{path}[{index}]")
        case dict():
            for name, item in tree.items():
                yield path, name
                yield from _texts(item, f"{path}.{name}")
