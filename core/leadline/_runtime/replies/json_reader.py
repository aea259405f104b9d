"""Reads the JSON objects of a model reply: inside fences, after thoughts, amid text, with faults, cut off.

Sound JSON is read as it is, and repaired only if none of it fits. The reader makes one pass with lookahead of bounded
length, so its time is linear in the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple

# Levels of nesting; deeper text is noise.
DEEPEST = 100
_BLANK = re.compile(r"(?:\s+|//[^\n]*|\#[^\n]*|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_SPACE = re.compile(r"\s*")
_BARE = re.compile(r"(?:(?!(?<!:)//|/\*)[^,\]}\n])+")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?=[\s,\]}/#]|\Z)")
_KEY = re.compile(r"""([^\s:=,{}\[\]"']+)(?:["']\s{0,9}(?=[:=]))?""")
_NEXT_KEY = re.compile(r"""["'“][^"'”\n]{1,80}(?:["'”]\s{0,9}(?:[:=]|\Z)|\Z)|[A-Za-z_]\w{0,80}\s{0,9}[:=]""")
_NEXT_ITEM = re.compile(r"""["'“\[{]|-?\d|true|false|null|None|True|False""")
# By opening quote: a run of characters that needs no closer look.
_CHUNKS = {
    '"': re.compile(r'[^"\\]+'),
    "'": re.compile(r"[^'\\]+"),
    "`": re.compile(r"[^`\\]+"),
    "“": re.compile(r'[^”"\\]+'),
}
_TRIPLE = '"""'
_HEX = re.compile(r"u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?")
_PYTHON_HEX = re.compile(r"x([0-9a-fA-F]{2})|U(000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4})")
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "n": "\n", "t": "\t", "r": "\r"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None, "nan": None, "undefined": None}
_NOTHING = object()
Place = Literal["key", "value", "item"]


class TooDeep(ValueError):
    """The text is nested deeper than any reply."""


class JsonReader:
    """Reads objects from faulty JSON: missing commas and quotes, comments, unescaped quotes, a missing end.

    `at` is the current offset.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        # True if the text ended within a string or a list, or where a value had to follow.
        self.broken = False
        # True if the text ended within a string.
        self.severed = False
        self._last_triple = text.rfind(_TRIPLE)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield every object that can be read, except empty ones. Raises `TooDeep`."""
        while (start := self._text.find("{", self.at)) >= 0:
            self.at = start
            if found := self._object(1, listed=False):
                yield found

    def _ended(self) -> None:
        """Record that the text ended inside a value."""
        self.broken = True

    def _char(self) -> str:
        return self._text[self.at : self.at + 1]

    def _blank(self) -> str:
        """Skip white space and comments; return the next character."""
        match = _BLANK.match(self._text, self.at)
        self.at = match.end() if match else self.at
        return self._char()

    def _value(self, depth: int, place: Place, *, listed: bool) -> Any:
        if depth > DEEPEST:
            raise TooDeep
        char = self._char()
        if char == "{":
            return self._object(depth, listed=listed)
        if char == "[":
            return self._list(depth)
        return self._string(place) if char in _CHUNKS else self._bare()

    def _object(self, depth: int, *, listed: bool) -> dict[str, Any]:
        """Read an object. With `listed`, it is inside a list, whose `]` ends it too."""
        found: dict[str, Any] = {}
        self.at += 1
        while char := self._blank():
            if char == "}" or (char == "]" and listed):
                self.at += char == "}"
                break
            if char in "{[":
                self._value(depth + 1, "item", listed=listed)  # ignore a value without a key
            elif (key := self._key()) and self._blank() not in ("", ",", "}", "]"):
                value = self._value(depth + 1, "value", listed=listed)
                if value is not _NOTHING:
                    found[key] = value
        if not char and self._text.rstrip()[-1:] in (",", ":"):
            self._ended()
        return found

    def _key(self) -> str:
        """Read a key and its colon; skip anything else and return an empty string."""
        quoted = self._char() in _CHUNKS
        key = self._string("key") if quoted else self._word()
        if self._blank() in (":", "="):
            self.at += 1
        elif not quoted:  # a word of prose; after a quoted key the colon may be missing
            return ""
        return key

    def _word(self) -> str:
        match = _KEY.match(self._text, self.at)
        self.at = match.end() if match else self.at + 1
        return match.group(1) if match else ""

    def _list(self, depth: int) -> list[Any]:
        found = []
        self.at += 1
        while char := self._blank():
            if char in "]}":  # the end of an object also ends a list inside it
                self.at += char == "]"
                break
            if char in ",:;":
                self.at += 1
            elif (item := self._value(depth + 1, "item", listed=True)) is not _NOTHING:
                found.append(item)
        if not char:
            self._ended()
        return found

    def _bare(self) -> Any:
        """Read a value without quotes: a number, a literal of JSON or Python, or text."""
        if number := _NUMBER.match(self._text, self.at):
            self.at = number.end()
            return _number(number.group())
        match = _BARE.match(self._text, self.at)
        self.at = match.end() if match else self.at + 1
        said = match.group().strip() if match else ""
        if not said.strip("."):  # `...` of an abbreviated reply
            return _NOTHING
        return _WORDS.get(said.lower().lstrip("+-").replace("infinity", "nan"), said) if len(said) < 12 else said

    def _string(self, place: Place) -> str:
        opening, parts = self._char(), []
        if self._text.startswith(_TRIPLE, self.at) and self.at < self._last_triple - 2:
            return self._tripled()
        self.at += 1
        while char := self._char():
            if char == "\\":
                parts.append(self._escaped())
            elif char in (opening, "”", '"') and (opening == "“" or char == opening):
                self.at += 1
                if place == "key" or self._closes(char, place):
                    break
                parts.append(char)
            elif chunk := _CHUNKS[opening].match(self._text, self.at):
                parts.append(chunk.group())
                self.at = chunk.end()
        if not char:
            self._ended()
            self.severed = True
        return "".join(parts)

    def _tripled(self) -> str:
        """Read a string in triple quotes, as in Python."""
        start = self.at + len(_TRIPLE)
        end = self._text.find(_TRIPLE, start)
        self.at = end + len(_TRIPLE)
        return self._text[start:end]

    def _closes(self, quote: str, place: Place) -> bool:
        """Return whether the quote that was just read ends the string, judging by the text after it."""
        behind = self._after_space(self.at)
        char = self._text[behind : behind + 1]
        if char in ("", "}", "]"):
            return True
        if char == ",":
            return self._goes_on(self._after_space(behind + 1), place)
        if char in "/#":
            return self._text.startswith(("//", "/*", "#"), behind)
        # A missing comma before the next string; of two adjacent quotes the second one ends the string.
        return behind > self.at and char in (quote, '"') and self._goes_on(behind, place)

    def _goes_on(self, at: int, place: Place) -> bool:
        """Return whether the next key or item, or the end, is at an offset."""
        if self._text[at : at + 1] in ("", "}", "]", "/", "#"):
            return True
        return bool((_NEXT_KEY if place == "value" else _NEXT_ITEM).match(self._text, at))

    def _after_space(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        return match.end() if match else at

    def _escaped(self) -> str:
        """Read an escape sequence; any other backslash is literal, as in LaTeX."""
        self.at += 1
        char = self._char()
        if hexadecimal := _HEX.match(self._text, self.at):
            self.at = hexadecimal.end()
            units = b"".join(int(unit, 16).to_bytes(2) for unit in hexadecimal.groups() if unit)
            return units.decode("utf-16-be", "replace")
        if python := _PYTHON_HEX.match(self._text, self.at):
            self.at = python.end()
            return chr(int(python.group(1) or python.group(2), 16))
        if char not in _ESCAPES or (char.isalpha() and self._word_behind()):
            return "\\"
        self.at += 1
        return _ESCAPES[char]

    def _word_behind(self) -> bool:
        """Return whether a LaTeX command follows: that of "times" is not a tab and "imes"."""
        return bool(_LATEX.match(self._text, self.at))


# LaTeX commands that begin like a JSON escape.
_LATEX = re.compile(
    r"(?:nabla|natural|ne|neq|neg|ni|not|notin|nu|nsubseteq|tan|tanh|tau|text|textbf|textit|textrm|tfrac|theta|tilde|times"
    r"|to|top|triangle|rangle|rceil|rfloor|rho|right|rightarrow|rm)(?![A-Za-z])"
)


def _number(said: str) -> float | int | None:
    """Return a number, or None if it is not finite."""
    if len(said) > 300:
        return None
    number = float(said) if re.search(r"[.eE]", said) else int(said)
    return number if abs(number) != float("inf") else None


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
# Characters of a reply that are read at all, and that are repaired (some .1 s of CPU).
LONGEST = 2_000_000
MENDED = 100_000
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
    if said := _without_tokens(_without_thoughts(text)):
        return said
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


def unfenced(said: str) -> str:
    """Return a reply without the code fence around it."""
    match = _FENCE.fullmatch(said.strip())
    return match.group(1).strip() if match else said.strip()


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
    """Yield the objects that the lenient reader finds."""
    left = MENDED
    for part in (*(match.group(1) for match in islice(_FENCE.finditer(text), TRIES)), text):
        mender = JsonReader(part[:left])
        try:
            for found in islice(mender.objects(), TRIES):
                yield Candidate(found, False, mender.broken, mender.severed)
        except TooDeep:
            continue
        finally:
            left = max(0, left - len(part))


def listed(text: str) -> object:
    """Return a reply that is a sound list; otherwise None."""
    said = unfenced(text)
    if not said.startswith("["):
        return None
    try:
        found = _decoder.decode(said)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _finite(said: str) -> float | None:
    number = float(said)
    return number if abs(number) != float("inf") else None


# NaN, Infinity and numbers that are not finite become null, since records cannot hold them.
_decoder = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_finite)
