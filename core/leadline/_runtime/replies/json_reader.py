"""Reads the JSON objects of a model reply: inside fences, after thoughts, amid text, with faults, cut off.

Sound JSON is read as it is. Only if none of it fits, a text that ends early is closed, and another one repaired.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from pydantic_core import from_json

# Characters of a string that json_repair may read, whose time grows with the square of its length.
LONGEST_FIELD = 8_000
_QUOTED = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
# Strings of Python or JavaScript, of which json_repair would keep only a part.
_FOREIGN_STRING = re.compile(r'"""|"\s*:\s*`')
_NOT_FINITE = (float("inf"), float("-inf"), "NaN", "Infinity", "-Infinity")
_STRUCTURE = re.compile(r'["\\{}\[\]]')


def _end(text: str) -> tuple[bool, bool]:
    """Return whether a text ends inside a value of its JSON, and whether it ends inside a string."""
    depth, inside, at = "", False, text.find("{")
    while at >= 0 and (mark := _STRUCTURE.search(text, at)):
        at = mark.end()
        match mark.group():
            case "\\":
                at += inside
            case '"':
                inside = not inside
            case opening if not inside and opening in "{[":
                depth += opening
            case _ if not inside:
                depth = depth[:-1]
    ended = inside or depth.endswith("[") or (bool(depth) and text.rstrip()[-1:] in (",", ":"))
    return ended, inside


# The marks around a thought in the templates of models: the first may be missing, or the last. A server that does not
# know the template leaves them in the text.
_TAG = r"(?P<tag>(?:seed:)?(?:think|thinking|reasoning|thought))"  # DeepSeek, Qwen and most others; Seed
_THOUGHT_MARKS = (
    (rf"(?i:<{_TAG}>)", r"(?i:</(?P=tag)>)"),
    (r"◁think▷", r"◁/think▷"),  # Kimi
    (r"\[THINK\]", r"\[/THINK\]"),  # Mistral
    (r"<\|channel>thought\b", r"<channel\|>"),  # Gemma
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),  # Command
    # gpt-oss: all channels but the final one, tool calls among them
    (
        r"(?:<\|start\|>\w+)?<\|channel\|>(?!final)\w+[^<]{0,99}(?:<\|constrain\|>\w+)?<\|message\|>",
        r"<\|(?:end|call)\|>",
    ),
)
_THOUGHT = re.compile("|".join(rf"{begin}.*?(?:{end}|\Z)" for begin, end in _THOUGHT_MARKS), re.DOTALL)
_OPENED = re.compile("|".join(begin for begin, _ in _THOUGHT_MARKS))
_ENDED = re.compile("|".join(["(?i:</" + _TAG + ">)", *(end for _, end in _THOUGHT_MARKS[1:-1])]))
# Control tokens: `<|im_end|>`, `<|eot_id|>`, `<｜end▁of▁sentence｜>`, `<end_of_turn>`, `</s>`.
_MARK = r"(?:<[|｜][^<>|｜\s]{1,40}[|｜]>|<(?:start|end)_of_turn>|\[/?INST\]|</?s>|<[be]os>)"
_MARKS_BEFORE = re.compile(rf"\ufeff?(?:\s*{_MARK}(?:(?:assistant|model|final)(?=\s*\n|<))?)*\s*")
# The same in a text that is reversed, because a search for them at the end takes quadratic time.
_MARKS_AFTER = re.compile(
    r"(?:\s*(?:>[|｜][^<>|｜\s]{1,40}[|｜]<|>nrut_fo_(?:trats|dne)<|\]TSNI/?\[|>s/?<|>so[be]<))+\s*"
)
# The end of the reply, and a next turn that the model made up.
_NEXT_TURN = re.compile(
    rf"{_MARK}\s{{0,9}}(?:<\|(?:im_start|start|start_header_id|user)\|>|<start_of_turn>|<｜User｜>|\[INST\])"
)
_QUOTES = frozenset("`\"'“”‘’„«»「」")
_LAST = re.compile(r"[\]}][\s`]*\Z")
"""An object, or a list, that a text ends with."""
_FENCE = re.compile(r"```[\w-]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
# Characters of a reply that are read at all, and that are repaired (at most .2 s of CPU).
LONGEST = 2_000_000
LONGEST_REPAIR = 40_000
# Number of braces at which an object may begin, of fences, and of repaired objects.
TRIES = 20


class Candidate(NamedTuple):
    """A value that may be the reply.

    `whole`: it is certainly not part of a larger object. `broken`: the text ended inside it. `severed`: the text ended
    inside one of its strings.
    """

    value: object
    whole: bool
    broken: bool = False
    severed: bool = False


def without_thoughts(text: str) -> str:
    """Return a reply without thoughts and the control tokens around it, limited to LONGEST characters.

    If a thought never ends, the reply is the object at the end of the text, if there is one. What is in a sound object,
    in code or in quotation marks stays.
    """
    text = _without_beginning(text[:LONGEST])
    if reply_text := _without_tokens(_without_thoughts(text)):
        return reply_text
    return text if _LAST.search(text) or not _OPENED.search(text) else ""


def _without_tokens(text: str) -> str:
    """Return a reply without the control tokens around it, and without turns after it."""
    before = _MARKS_BEFORE.match(text)
    text = text[before.end() if before else 0 :]
    inside = _end_of_object(text, text.find("{"))
    turns = islice(_NEXT_TURN.finditer(text, inside), TRIES)
    turn = next((match for match in turns if not _is_mentioned(text, match)), None)
    text = (text[: turn.start()] if turn else text).strip()
    after = _MARKS_AFTER.match(text[::-1])
    return text[: len(text) - after.end()] if after and not ("<s>" in text and after[0] == ">s/<") else text


def _is_mentioned(text: str, mark: re.Match[str]) -> bool:
    """Return whether a mark is part of the text: in quotation marks, or in code."""
    before, after = text[: mark.start()][-1:], text[mark.end() : mark.end() + 3]
    quoted = before in _QUOTES and after[:1] in _QUOTES and after != "```"
    return quoted or text.count("```", 0, mark.start()) % 2 == 1


def _without_beginning(text: str) -> str:
    """Return a text without a thought whose opening tag is missing, unless the closing tag is inside an object."""
    ends = [end for end in islice(_ENDED.finditer(text), TRIES) if not _is_mentioned(text, end)]
    ended = ends[-1] if ends else None
    if ended is None or _OPENED.search(text, 0, ended.start()):
        return text
    start = text.find("{", 0, ended.start())
    for _ in range(TRIES):
        if start < 0:
            break
        end = _end_of_object(text, start)
        if end > ended.start():
            return text
        start = text.find("{", max(end, start + 1), ended.start())
    return text[ended.end() :]


def unfenced(text: str) -> str:
    """Return a reply without the code fence around it."""
    match = _FENCE.fullmatch(text.strip())
    return match.group(1).strip() if match else text.strip()


def _without_thoughts(text: str) -> str:
    """Return a text without thoughts; a mark inside a sound object is part of its strings, and one in code of these."""
    parts: list[str] = []
    at = 0
    for _ in range(TRIES):
        match, opened = _THOUGHT.search(text, at), _OPENED.search(text, at)
        if match is None or opened is None:
            return "".join(parts) + text[at:]
        start, end = match.span()
        if _is_mentioned(text, opened):
            start = end = opened.end()
        if (inside := _end_of_object(text, text.find("{", at, start))) > start:
            start = end = inside
        parts.append(text[at:start])
        at = end
    return "".join(parts) + _THOUGHT.sub("", text[at:])


def _end_of_object(text: str, start: int) -> int:
    """Return the end of the sound object that begins here; 0 if there is none."""
    try:
        return _decoder.raw_decode(text, start)[1] if start >= 0 else 0
    except (ValueError, RecursionError):
        return 0


def sound_objects(text: str) -> Iterator[Candidate]:
    """Yield the objects that are sound JSON, inside and outside fences."""
    start, whole = text.find("{"), True
    for _ in range(TRIES):
        if start < 0:
            return
        try:
            data, end = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end, whole = start + 1, False  # later objects may be part of the unreadable one
        else:
            yield Candidate(data, whole)
        start = text.find("{", end)


def repaired_objects(text: str) -> Iterator[Candidate]:
    """Yield the objects that json_repair reads in the text, and in each fence."""
    for part in (*(match.group(1) for match in islice(_FENCE.finditer(text), TRIES)), text):
        start = part.find("{")
        if start < 0 or len(part) > LONGEST_REPAIR:
            continue
        ended, severed = _end(part)
        for value in islice(_repaired(part[start:], ended=ended), TRIES):
            if isinstance(value, dict) and value:
                yield Candidate(value, False, ended, severed)


def _repaired(text: str, *, ended: bool) -> list[Any]:
    """Return the values of a faulty text; nothing if that would take long, or lose a part of a string.

    Of a text that is sound up to its end, json_repair would lose a part, so that one is only closed.
    """
    from json_repair import repair_json

    if ended:
        with suppress(ValueError):
            return [_clean(from_json(text, allow_partial="trailing-strings"))]
    too_long = max(map(len, _QUOTED.findall(text)), default=0) > LONGEST_FIELD
    if too_long or _FOREIGN_STRING.search(text):
        return []
    with suppress(ValueError, RecursionError, IndexError):
        data: Any = _clean(repair_json(text, return_objects=True, skip_json_loads=True))
        return data if isinstance(data, list) else [data]
    return []


def _clean(value: Any) -> Any:
    """Return a value with the halves of a character joined, and null for numbers that records cannot hold."""
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, str) and value not in _NOT_FINITE:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return None if value in _NOT_FINITE else value


def _finite(text: str) -> float | None:
    number = float(text)
    return number if abs(number) != float("inf") else None


# NaN, Infinity and numbers that are not finite become null, since records cannot hold them.
_decoder = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_finite)
