"""Text for people: foreign text that is safe to print, short forms, and the choices in error messages."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from pathlib import Path

# Right-to-left, Indic and Southeast Asian scripts, whose spelling needs joiners and marks of direction.
_COMPLEX = "\u0590-\u109f\u1780-\u1cff\ua800-\uabff\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc\U00010800-\U00011fff"
_EMOJI = "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
# Characters without a shape that text for people does not need: control characters except tab and line feed, all that
# Unicode lets a font ignore (tags, variation selectors, zero width, overrides of direction), marks of annotations.
# One of them stays where its script or emoji needs it: after a letter, a Mongolian letter, an emoji, a digit of a key.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    f"\U000e0000-\U000e0fff](?<![{_COMPLEX}][\u061c\u200c-\u200f])(?<![\u1820-\u18aa][\u180b-\u180f])"
    f"(?<![{_EMOJI}][\ufe0e\ufe0f\u200d])(?<![{_EMOJI}]\ufe0f\u200d)(?<![#*0-9]\ufe0f(?=\u20e3))"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")


def visible(text: str) -> str:
    """Return a text without characters that readers do not see, but models read and terminals and programs obey.

    Lone surrogates, which cannot be stored, become U+FFFD.
    """
    if text.isascii() and text.isprintable():
        return text
    return _SURROGATES.sub("\ufffd", _HIDDEN.sub("", text))


def one_line(text: object) -> str:
    """Return visible text on one line."""
    return " ".join(visible(" ".join(str(text).split())).split())


def shortened(text: object, most: int = 400) -> str:
    """Return text on one line. From more than `most` characters, return the beginning and the total length."""
    line = one_line(text)
    if len(line) <= most:
        return line
    return f"{line[:most].rstrip()} … ({len(line):,} characters)"


def plural(count: int, noun: str, many: str = "") -> str:
    """Return a count with its noun: `1 claim`, `2 claims`."""
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"


def strip_markup(markup: str) -> str:
    """Return a title or snippet on one line, without tags and with entities decoded."""
    return one_line(html.unescape(_TAG.sub("", markup)))


def group_by_reason(
    messages: Iterable[tuple[str, str]], form: str = "{message} ({reason})", separator: str = "; "
) -> list[str]:
    """Join messages with the same reason: `a (timeout)`, `b (timeout)` -> `a; b (timeout)`.

    Each message comes with its reason, or an empty text, and each group takes the place of its first message.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for text, reason in messages:
        groups.setdefault((reason, "" if reason else text), []).append(text)
    joined = ((separator.join(dict.fromkeys(texts)), reason) for (reason, _), texts in groups.items())
    return [form.format(message=text, reason=reason) if reason else text for text, reason in joined]


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return the choice most similar to `word`, or an empty string if none is close."""
    from difflib import get_close_matches  # only needed for an error

    return next(iter(get_close_matches(word, sorted(choices), n=1, cutoff=0.6)), "")


def missing_path(path: Path) -> str:
    """Return a path that does not exist, with the nearest name beside it."""
    try:
        near = nearest(path.name, [entry.name for entry in path.expanduser().parent.iterdir()])
    except OSError:
        near = ""
    return f"{path} (did you mean {near!r}?)" if near else str(path)


def choose_from(word: str, choices: Iterable[str]) -> str:
    """Return the end of an error message: the nearest choice, and the list of all choices."""
    names = sorted(choices)
    suggestion = nearest(word, names)
    listed = f"choose from: {', '.join(names)}" if names else "there is nothing to choose from"
    return f"did you mean {suggestion!r}? ({listed})" if suggestion else listed
