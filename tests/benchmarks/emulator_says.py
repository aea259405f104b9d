"""What the emulator's model says: a reply by the schema it is asked for, made of the inputs and of nothing else.

The replies are as long as a good model's would be, cite only what they were given, and need two rounds of research.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from emulator_code import program
from emulator_long import LONG, charts, long_parts, long_plan, long_section, nearest, repeats

SECTIONS = 5
WORDS = 620
"""Of a section for which no length is asked."""
_ANGLES = ("current state", "history and causes", "costs and financing", "regional differences", "risks and outlook")
_LINKS = ("In addition,", "By contrast,", "Seen over time,", "Beside that,", "Taken together with the above,")
_ASKING = {"what", "which", "where", "when", "does", "with", "from", "into", "that", "this", "there", "their", "debia"}
"""Words of questions, and of every page of the documents that they are asked about."""
_PASSAGE = re.compile(r"^\[(\d+)\] (.*?)(?=^\[\d+\] |^# |^## |\Z)", re.MULTILINE | re.DOTALL)
_SENTENCE = re.compile(r"[A-Z][^.!?\n]{20,400}(?:\.\d[^.!?\n]*)*[.!?]")
_CITED = re.compile(
    r"(?:^|(?<=\]\. ))(?:(?:" + "|".join(("First,", *_LINKS)) + r") )?([^\[\]\n]{20,400}?) \[(\d+)\]", re.M
)
"""A whole statement of a section, without what joins it to the one before, and the number of its passage."""
_CLAIM = re.compile(r"^Claim (\d+): (.*)\ncites: ((?:\[\d+\])*)(?:\n(?!\n).*)*", re.MULTILINE)
Statement = tuple[str, str]
"""A sentence and the number of its passage."""


def say(schema: Mapping[str, Any], text: str) -> tuple[str, str]:
    """Return the name of a task, by the fields of its reply, and the reply as JSON; of an unknown one the least."""
    fields = schema.get("properties", {})
    name = next((name for name, known in FIELDS.items() if known <= fields.keys()), "")
    reply = SAYINGS[name](text) if name else least(schema, schema.get("$defs", {}))
    # As a model that is held to a schema: its fields in their order.
    return name, json.dumps({field: reply[field] for field in fields if field in reply}, ensure_ascii=False)


def _question(text: str) -> str:
    found = re.search(r"^Question: (.*)", text, re.MULTILINE)
    return found[1] if found else ""


def _plan(text: str) -> dict[str, Any]:
    if size := re.search(r"^Sections: (\d+) to (\d+)", text, re.MULTILINE):
        return long_plan(_question(text), int(size[1]), int(size[2]))
    asked = _question(text).rstrip("?. ")
    sections = [_planned(str(place), angle) for place, angle in enumerate(_ANGLES[:SECTIONS], start=1)]
    queries = [_query(asked, angle, str(place)) for place, angle in enumerate(_ANGLES[:SECTIONS], start=1)]
    queries += [_query(asked, "statistics by country", "4"), _query(asked, "official report", "1")]
    return {"title": f"{asked}: an overview", "queries": queries, "scope": "", "form": "", "sections": sections}


def _planned(name: str, angle: str) -> dict[str, Any]:
    questions = [f"What is the {angle}?", f"Who is affected by the {angle}?"]
    goal = f"Say what the sources establish about the {angle}."
    rest = {"goal": goal, "grid": "", "questions": questions, "domain": "overview"}
    return {"id": name, "title": f"{angle.capitalize()}", **rest}


def _query(asked: str, angle: str, section: str) -> dict[str, str]:
    words = [word for word in re.findall(r"\w+", asked) if len(word) > 3][:6]
    return {"query": f"{' '.join(words)} {angle}", "goal": angle, "priority": "high", "section": section}


def searches(inputs: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return a search for each section of the plan; in later rounds others, for some of them."""
    asked, sections = inputs["question"]["text"], inputs["plan"]["sections"]
    if inputs.get("past"):
        made = [_query(asked, f"newest figures {section['id']}", section["id"]) for section in sections[:2]]
    else:
        made = [_query(asked, section["title"].lower(), section["id"]) for section in sections]
    return [{"query": one["query"], "section": one["section"]} for one in made]


def _digest(text: str) -> dict[str, Any]:
    if "Searches so far" not in text and "No more searches" not in text:
        return _earlier(text)
    names, partial = re.findall(r"^Section (\w+):", text, re.MULTILINE), {"coverage": "partial", "depth": 0.6}
    first = "Known so far:" not in text and "No more searches" not in text
    asked = _question(text)
    return {
        "is_sufficient": not first,
        "sections": [{"id": name, "questions": [], **partial} for name in names[1::2]] if first else [],
        "queries": [_query(asked, f"newest figures {name}", name) for name in names[:4]] if first else [],
        "answers": [],
        "read": [],
        "conflicts": [],
        "synthesis": " ".join(sentence for sentence, _ in statements(text)[:3]) if first else "",
        "instructions": [],
    }


def _queries(text: str) -> dict[str, Any]:
    most = re.search(r"^At most (\d+) queries", text, re.MULTILINE)
    angles = _ANGLES[: int(most[1])] if most else _ANGLES
    return {"queries": [_query(_question(text), angle, "1") for angle in angles]}


def _standalone(text: str) -> dict[str, Any]:
    """Return the last message with the last question beside it: nothing is lost, and nothing is understood."""
    asked, message = re.findall(r"^Question: (.*)", text, re.MULTILINE), text.partition("# The last message\n\n")[2]
    return {"question": f"{message.splitlines()[0]} ({asked[-1]})" if asked else message.splitlines()[0]}


def _earlier(text: str) -> dict[str, Any]:
    """Find a question answered if a passage has three of four of its words, by their first five letters."""
    asked = _question(text)
    words = {word[:5] for word in re.findall(r"\w{4,}", asked.casefold())} - _ASKING
    known = ({word[:5] for word in re.findall(r"\w{4,}", one.casefold())} for one in passages(text).values())
    enough = any(len(words & one) >= 0.75 * len(words) for one in known)
    queries = [{"query": asked, "goal": asked, "priority": "high", "section": ""}]
    rest = {"sections": [], "answers": [], "read": [], "conflicts": [], "synthesis": "", "instructions": []}
    return {"is_sufficient": enough, "queries": [] if enough else queries, **rest}


def passages(text: str) -> dict[str, str]:
    """Return the passages of a prompt by their numbers."""
    return {number: passage.strip() for number, passage in _PASSAGE.findall(text)}


def statements(text: str) -> list[Statement]:
    """Return the sentences of the passages of a prompt: the first of each, then the second of each, …"""
    rows = [[(one, number) for one in _SENTENCE.findall(passage)] for number, passage in passages(text).items()]
    longest = max(map(len, rows), default=0)
    return [row[place] for place in range(longest) for row in rows if place < len(row)]


def _written(text: str) -> dict[str, Any]:
    """Write what the last lines ask for: sections from all passages, parts around them from what is written."""
    before, _, asked = text.rpartition("Write now:\n")
    wanted = json.JSONDecoder().raw_decode(asked)[0]["sections"]
    rest = [part for part in wanted if part["id"] not in _PARTS]
    texts = {part["id"]: _section(before, part) for part in rest}
    material = "\n\n".join([*_SECTION.findall(before), *texts.values()])
    around = _around(material, long=any(part["id"] == "introduction" for part in wanted))
    texts |= {part["id"]: around[part["id"]] for part in wanted if part["id"] in _PARTS}
    sections = [{"id": name, "text": written} for name, written in texts.items()]
    return {"sections": sections, "unanswered": [], "inferences": [], "figures": []}


_PARTS = ("summary", "introduction", "insights", "analysis", "conclusion", "keywords")
_SECTION = re.compile(r'^<section id="[^"]*">\n(.*?)^</section>', re.MULTILINE | re.DOTALL)


def _section(text: str, part: Mapping[str, Any]) -> str:
    length = part.get("words") or part.get("characters") or WORDS
    first = [str(number) for number in part.get("passages", ())]
    said = sorted(statements(text), key=lambda one: one[1] not in first)
    if length < LONG:
        return "\n\n".join(prose(said, length))
    title = re.search(rf"^Section {re.escape(part['id'])}: ([^(\n]*)", text, re.MULTILINE)
    name = title[1].strip() if title else ""
    return long_section(said, length, name)


def _around(text: str, *, long: bool) -> dict[str, str]:
    """Return the parts around sections: of a short report what stands at the ends of its sections."""
    if long:
        parts = long_parts(_CITED.findall(text))
        return parts | {"keywords": "; ".join(parts["keywords"])}
    said = _CITED.findall(text)
    shares = {"summary": (said[:6], 90), "analysis": (said[-6:], 80), "conclusion": (said[-3:], 60)}
    return {name: "\n\n".join(prose(*share)) for name, share in shares.items()}


def prose(said: Sequence[Statement], words: int) -> Iterator[str]:
    """Yield paragraphs of so many words in all, each statement cited, taken again as often as needed."""
    written = count = 0
    while said and written < words:
        sentences: list[str] = []
        while len(sentences) < 3 and written < words:
            sentence, number = said[count % len(said)]
            link = _LINKS[count % len(_LINKS)] if count else "First,"
            quote = sentence.strip().rstrip(".")
            sentences.append(f"{link} {quote[:1].lower()}{quote[1:]} [{number}].")
            written, count = written + len(quote.split()) + 2, count + 1
        yield " ".join(sentences)


def _verdicts(text: str) -> dict[str, Any]:
    """Find every claim supported by the sentence that it repeats."""
    known = passages(text.partition("\n# Claims")[0])
    found = [_verdict(number, claim, cites, known) for number, claim, cites in _CLAIM.findall(text)]
    bare = {"verdict": "unsupported", "reason": "no cited passage says it"}
    return {
        "supported": [one for one in found if one["quote"]],
        "others": [one | bare for one in found if not one["quote"]],
    }


def _verdict(number: str, claim: str, cites: str, known: Mapping[str, str]) -> dict[str, Any]:
    cited = [known[one] for one in re.findall(r"\d+", cites) if one in known]
    words = claim.casefold().rstrip(". ")
    found = (one for passage in cited for one in _SENTENCE.findall(passage) if one.casefold().rstrip(".") in words)
    quote = next(found, "") or nearest(claim, [one for passage in cited for one in _SENTENCE.findall(passage)])
    return {"claim": int(number), "quote": quote}


def _reply(text: str) -> dict[str, Any]:
    """Answer from the question alone; a step of thinking says which steps it has read."""
    asked, steps = _question(text).rstrip("?. "), re.findall(r'^<step name="(\w+)">', text, re.MULTILINE)
    said = [f"Step {len(steps) + 1} about: {asked}."]
    said += [f"It builds on {' and '.join(steps)}."] if steps else []
    said += [f"{link} the answer depends on what is meant by {asked}, and on who asks." for link in _LINKS]
    return {"text": "\n\n".join((" ".join(said[:3]), " ".join(said[3:])))}


def _requirements(text: str) -> dict[str, Any]:
    asked = _question(text).rstrip("?. ")
    functions = [
        {"name": name, "description": f"{name} for {asked}.", "priority": need, "acceptance": f"{name} is tested."}
        for name, need in (("Search", "must"), ("Export", "should"), ("Statistics", "could"))
    ]
    return {
        "title": f"Requirements: {asked}",
        "summary": f"What is wanted: {asked}.",
        "goals": ["Half of the requests are answered without a person.", "No request is lost."],
        "users": [{"name": "Visitors", "needs": "an answer at once"}, {"name": "Staff", "needs": "an overview"}],
        "functions": functions,
        "constraints": ["Personal data stay in the country."],
        "open_questions": ["Who answers at night?"],
    }


def _route(text: str) -> dict[str, Any]:
    """Choose by the length of the question: a short one is searched for."""
    name = "search" if len(_question(text)) < 60 else "research"
    return {"pipeline": name, "reason": "its length"}


FIELDS: Mapping[str, frozenset[str]] = {
    "Repeats": frozenset({"repeats"}),
    "Code": frozenset({"explanation", "code"}),
    "ChartPlan": frozenset({"charts"}),
    "Digest": frozenset({"is_sufficient", "synthesis"}),
    "Plan": frozenset({"title", "sections", "queries"}),
    "Standalone": frozenset({"question"}),
    "Queries": frozenset({"queries"}),
    "Written": frozenset({"sections", "unanswered", "inferences"}),
    "ClaimVerdicts": frozenset({"supported", "others"}),
    "Requirements": frozenset({"goals", "functions"}),
    "Route": frozenset({"pipeline", "reason"}),
    "Reply": frozenset({"text"}),
}
"""What the reply of a task has, by the name under which it is counted."""
SAYINGS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "Plan": _plan,
    "Repeats": repeats,
    "Code": lambda text: program(_question(text), repair="\nError:\n" in text),
    "ChartPlan": lambda text: charts(passages(text)),
    "Queries": _queries,
    "Digest": _digest,
    "Standalone": _standalone,
    "Written": _written,
    "ClaimVerdicts": _verdicts,
    "Requirements": _requirements,
    "Route": _route,
    "Reply": _reply,
}


def least(schema: Mapping[str, Any], forms: Mapping[str, Any]) -> Any:
    """Return the smallest value a schema allows."""
    if "$ref" in schema:
        return least(forms[schema["$ref"].rpartition("/")[2]], forms)
    if choices := schema.get("enum") or schema.get("anyOf") or schema.get("oneOf"):
        return least(choices[0], forms) if isinstance(choices[0], Mapping) else choices[0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type", "object")
    if kind == "object":
        fields = schema.get("properties", {})
        return {name: least(fields[name], forms) for name in schema.get("required", ())}
    return {"array": [], "string": "", "integer": 0, "number": 0.0, "boolean": False, "null": None}[kind]
