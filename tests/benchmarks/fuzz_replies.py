"""Break replies of every task in every way, and read them: `python fuzz_replies.py [SECONDS] [SEED]`.

Whatever comes, there is a record or `BadReply`, within a second of CPU for a megabyte; a sound reply is read as it is,
with text, fences or thoughts around it. Prints counts: replies read and refused by how they were broken, how many
came out as they were meant, and the slowest.
"""

from __future__ import annotations

import json
import random
import string
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from leadline._hosting.catalog import PluginCatalog
from leadline._runtime.replies.parsing import parse
from leadline._settings.task_settings import declared
from leadline.errors import BadReply
from leadline.records import Record
from leadline.schemas import schema_of

SLOWEST = 1.0
"""Seconds of CPU that reading may take."""
BIG = 1_000_000
WORDS = ("depth", "the", "harbour’s", "20 %", "“mole”", "it's", "a \\ b", "水深は", 'so-called "sounding"', "{x}")
PIECES = (
    *("{", "}", "[", "]", '"', "'", ",", ":", "\\", "\\u", "\\ud83d", "\\x", "\ud800", "\x00", "\x1b", "\u2028"),
    *("NaN", "-Infinity", "1e999", "9" * 400, "9" * 5000, "-0", "null", "tru", "//", "/*", "*/", "#", "```"),
    *("```json\n", "<think>", "</think>", "...", "\n", "\\frac{1}{2}", "[" * 200, '{"a":' * 200, "“", "”", "{}", "[]"),
)


def sample(form: Any, forms: Any, dice: random.Random) -> Any:
    """Return a value that the schema allows."""
    if "$ref" in form:
        return sample(forms[form["$ref"].rpartition("/")[2]], forms, dice)
    if choices := form.get("enum"):
        return dice.choice(choices)
    if branches := form.get("anyOf"):
        return sample(dice.choice(branches), forms, dice)
    if "const" in form:
        return form["const"]
    match form.get("type"):
        case "object":
            fields = form.get("properties") or {"1": form.get("additionalProperties", {})}
            return {name: sample(one, forms, dice) for name, one in fields.items()}
        case "array":
            return [sample(form["items"], forms, dice) for _ in range(dice.randrange(4))]
        case "integer":
            return dice.randrange(100)
        case "number":
            return round(dice.random(), dice.randrange(1, 6))
        case "boolean":
            return dice.random() < 0.5
        case "null":
            return None
    return " ".join(dice.choices(WORDS, k=dice.randrange(12)))


def damaged(text: str, dice: random.Random) -> str:
    """Return the text after a few accidents: signs changed, put in, taken out, doubled, the end cut off."""
    for _ in range(dice.randint(1, 4)):
        at, end = sorted(dice.choices(range(len(text) + 1), k=2))
        match dice.randrange(6):
            case 0:
                text = text[:at] + dice.choice(string.printable) + text[at + 1 :]
            case 1:
                text = text[:at] + dice.choice(PIECES) + text[at:]
            case 2:
                text = text[:at] + text[min(end, at + 20) :]
            case 3:
                text = text[:end] + text[at:end] * dice.randrange(3) + text[end:]
            case 4:
                text = text[:end]
            case 5:
                text = dice.choice(PIECES) + text + dice.choice(PIECES)
    return text


def big(text: str, dice: random.Random) -> str:
    """Return a megabyte made of pieces of the text and of signs."""
    at = dice.randrange(len(text) + 1)
    unit = text[at : at + dice.randrange(1, 40)] + dice.choice(PIECES)
    return (text[:at] + unit * (BIG // len(unit)) + text[at:])[:BIG]


def _unquoted(text: str) -> str:
    data = json.loads(text)
    return "{" + ", ".join(f"{name}: {json.dumps(value)}" for name, value in data.items()) + "}"


USUAL: Mapping[str, Callable[[str], str]] = {
    "fence": lambda text: f"Here it is:\n```json\n{text}\n```\nDone.",
    "thought": lambda text: f"<think>perhaps {{this}}?</think>{text}",
    "text around": lambda text: f"As you asked {{in short}}: {text} That's all {{folks}}.",
    "trailing comma": lambda text: text[:-1] + ",}",
    "no last brace": lambda text: text[:-1],
    "unquoted keys": _unquoted,
    "comment": lambda text: "{ // as asked\n" + text[1:-1] + "/* done */}",
    "python": lambda text: repr(json.loads(text)),
    "after a draft": lambda text: f'{{"draft": true}}\n{text}',
}
"""Faults that models make every day; what was meant is plain."""


class Book:
    """What came of it."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.slowest = (0.0, "", "")

    def read(self, how: str, text: str, reply: type[Record]) -> Record | None:
        """Read a reply; raises whatever is not `BadReply`, with the text."""
        began = time.process_time()
        try:
            found: Record | None = parse(text, reply)
        except BadReply:
            found = None
        except BaseException:
            print(f"{how}, {reply.__name__}: {text[:2000]!r}", file=sys.stderr)
            raise
        took = time.process_time() - began
        self.counts[f"{how}: {'read' if found else 'refused'}"] += 1
        self.slowest = max(self.slowest, (took, how, text[:60]))
        assert took < SLOWEST, (took, how, reply.__name__, text[:200])
        return found


def valid(kinds: list[type[Record]], dice: random.Random) -> Iterator[tuple[type[Record], Record, str]]:
    """Yield valid replies without end, with the text that a model would write."""
    while True:
        for reply in kinds:
            form = schema_of(reply)
            record = reply.model_validate(sample(form, form.get("$defs", {}), dice))
            yield reply, record, record.model_dump_json(indent=dice.choice((None, 1)))


def usual(book: Book, reply: type[Record], record: Record, text: str) -> None:
    """Read a reply as it is, and with each fault of every day."""
    assert book.read("sound", text, reply) == record, text
    for how, spoil in USUAL.items():
        same = book.read(how, spoil(text), reply) == record
        book.counts[f"{how}: as meant"] += same
        assert same or how not in ("fence", "thought", "text around"), (how, text)


def main(seconds: float, seed: int) -> dict[str, Any]:
    """Return the counts."""
    dice, book = random.Random(seed), Book()
    kinds = sorted(
        {one.task.reply for one in declared(PluginCatalog.discover().loadable())}, key=lambda kind: kind.__name__
    )
    replies = valid(kinds, dice)
    for reply, _, text in (next(replies) for _ in kinds):
        for end in range(len(text)):
            book.read("cut at every character", text[:end], reply)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        reply, record, text = next(replies)
        usual(book, reply, record, text)
        for _ in range(20):
            book.read("damaged", damaged(text, dice), reply)
        if dice.random() < 0.05:
            book.read("a megabyte", big(text, dice), reply)
    slowest = {"seconds of CPU": round(book.slowest[0], 3), "how": book.slowest[1], "begins": book.slowest[2]}
    counts: dict[str, Any] = dict(sorted(book.counts.items()))
    return {"seed": seed, "tasks": len(kinds), **counts, "slowest": slowest}


if __name__ == "__main__":
    limit, number = (*sys.argv[1:], *("10", "1")[len(sys.argv) - 1 :])[:2]
    print(json.dumps(main(float(limit), int(number)), indent=1, ensure_ascii=False))
