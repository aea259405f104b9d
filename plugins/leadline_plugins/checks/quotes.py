"""Quotes found in their sources word for word: typography, hyphenation, white space and Unicode forms aside."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´＇", "'"),
        **dict.fromkeys("“”„‟″«»＂", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
    }
)
_LINE_MARKUP = re.compile(r"^(?:>|[-*+]|\d+[.)])\s+", re.MULTILINE)
_SIGN_MARKUP = re.compile(r"\\(?=[\\`*_{}\[\]()#+\-.!|<>~$&])|\*\*|__")
_REFERENCE = re.compile(r"\\?[\[【［]\s*+\^?\d{1,3}(?:\s*+[,，;–—-]\s*+\d{1,3})*+\s*+\\?[\]】］]")
"""The mark of a source's own reference: whoever takes a sentence over leaves it, for it points into another list."""
_HYPHENATED = re.compile(r"(?<=[^\W\d_])-\s*\n\s*(?=[^\W\d_])")
Span = tuple[int, int]


def find(quote: str, text: str) -> Span | None:
    """Return where a quote stands in a text, in characters of the text; None where it does not."""
    start = text.find(quote)
    if start >= 0 and quote:
        return start, start + len(quote)
    wanted = squeezed(quote)
    if not wanted:
        return None
    folded, places = _mapped(text)
    at = folded.find(wanted)
    return (places[at], places[at + len(wanted) - 1] + 1) if at >= 0 else None


@lru_cache(maxsize=64)
def squeezed(text: str) -> str:
    """Return a text in the one form in which quotes are compared: nothing but its signs, without any space."""
    bare = _unreferred(_unmarked(text))
    return "".join(_form(_HYPHENATED.sub("", bare) if "\n" in bare else bare).split())


def plain(text: str) -> str:
    """Return a text without the differences that do not count, but with its words apart."""
    return " ".join(_form(_unmarked(text)).split())


def _unmarked(text: str) -> str:
    # Two patterns, as the lines' is the dearer one: of a single line it is tried at its beginning alone.
    if "\n" in text:
        text = _LINE_MARKUP.sub("", text)
    elif begun := _LINE_MARKUP.match(text):
        text = text[begun.end() :]
    return _SIGN_MARKUP.sub("", text)


def _unreferred(text: str) -> str:
    return _REFERENCE.sub("", text) if "[" in text or "【" in text or "［" in text else text


def _form(text: str) -> str:
    if text.isascii():
        return text.replace("`", "'").replace("...", "…")
    return unicodedata.normalize("NFKC", text.translate(_SAME)).replace("...", "…").translate(_SAME)


_form_of_sign = lru_cache(maxsize=1 << 12)(_form)


def _mapped(text: str) -> tuple[str, list[int]]:
    """Return the compared form of a text, and for each of its signs the place of the one it came from."""
    patterns = (_HYPHENATED, _LINE_MARKUP, _SIGN_MARKUP, _REFERENCE)
    dropped = {at for pattern in patterns for match in pattern.finditer(text) for at in range(*match.span())}
    signs: list[str] = []
    places: list[int] = []
    for at, char in enumerate(unicodedata.normalize("NFC", text) if _stable(text) else text):
        form = "" if at in dropped or char.isspace() else _form_of_sign(char)
        signs.append(form)
        places += [at] * len(form)
    return "".join(signs).replace("...", "…"), places


def _stable(text: str) -> bool:
    return unicodedata.is_normalized("NFC", text)
