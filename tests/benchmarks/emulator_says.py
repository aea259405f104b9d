"""What the emulator's model says: a reply by the schema it is asked for, made of the inputs and of nothing else.

The replies are as long as a good model's would be, cite only what they were given, and need two rounds of research.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

SECTIONS = 5
WORDS = 620
"""Of a section for which no length is asked."""
_ANGLES = ("current state", "history and causes", "costs and financing", "regional differences", "risks and outlook")
_LINKS = ("In addition,", "By contrast,", "Seen over time,", "Beside that,", "Taken together with the above,")
_CITED = re.compile(
    r"(?:^|(?<=\]\. ))(?:(?:" + "|".join(("First,", *_LINKS)) + r") )?([^\]\n]{20,400}?) \[@([^\]]+)\]", re.M
)
"""A whole statement of a section, without what joins it to the one before, and the id of its passage."""
Inputs = Mapping[str, Any]


def say(name: str, schema: Mapping[str, Any], inputs: Inputs) -> str:
    """Return the reply to a task, as JSON; one that is not known is answered by the least its schema allows."""
    known = SAYINGS.get(name)
    reply = known(inputs) if known else least(schema, schema.get("$defs", {}))
    # As a model that is held to a schema: its fields in their order.
    return json.dumps({field: reply[field] for field in schema["properties"] if field in reply}, ensure_ascii=False)


def _plan(inputs: Inputs) -> dict[str, Any]:
    asked = inputs["question"]["text"].rstrip("?. ")
    sections = [_planned(str(place), angle, asked) for place, angle in enumerate(_ANGLES[:SECTIONS], start=1)]
    queries = [_query(asked, angle, str(place)) for place, angle in enumerate(_ANGLES[:SECTIONS], start=1)]
    queries += [_query(asked, "statistics by country", "4"), _query(asked, "official report", "1")]
    return {"title": f"{asked}: an overview", "sections": sections, "queries": queries}


def _planned(name: str, angle: str, asked: str) -> dict[str, Any]:
    questions = [f"What is the {angle}?", f"Who is affected by the {angle}?"]
    goal = f"Say what the sources establish about the {angle}."
    return {"id": name, "title": f"{angle.capitalize()}", "goal": goal, "questions": questions, "domain": "overview"}


def _query(asked: str, angle: str, section: str) -> dict[str, str]:
    words = [word for word in re.findall(r"\w+", asked) if len(word) > 3][:6]
    return {"query": f"{' '.join(words)} {angle}", "section": section}


def searches(inputs: Inputs) -> list[dict[str, str]]:
    """Return a search for each section of the plan; in later rounds others, for some of them."""
    asked, sections = inputs["question"]["text"], inputs["plan"]["sections"]
    if inputs.get("past"):
        return [_query(asked, f"newest figures {section['id']}", section["id"]) for section in sections[:2]]
    return [_query(asked, section["title"].lower(), section["id"]) for section in sections]


def _digest(inputs: Inputs) -> dict[str, Any]:
    names = [section["id"] for section in inputs["plan"]["sections"]]
    first = inputs.get("round", 1) < 2 and inputs.get("more", True)
    rated = [{"id": name, "coverage": "partial", "depth": 0.6} for name in names[1::2]] if first else []
    best = [item["quote"] for source in inputs.get("sources", ()) for item in source["quotes"]][:3]
    gaps = ["What do the newest figures say?", "Which costs are contested?"] if first else []
    asked = inputs["question"]["text"]
    queries = [_query(asked, f"newest figures {name}", name) for name in names[:4]] if first else []
    return {
        "synthesis": " ".join(best) if queries else "",
        "review": {"sections": rated, "is_sufficient": not first, "priority_gaps": gaps},
        "queries": queries,
    }


def _queries(inputs: Inputs) -> dict[str, Any]:
    asked = inputs["question"]["text"]
    return {"queries": [_query(asked, angle, "1") for angle in _ANGLES[: inputs.get("limit", 8)]]}


def _review(inputs: Inputs) -> dict[str, Any]:
    review: dict[str, Any] = _digest(inputs)["review"]
    return review


def _learnings(inputs: Inputs) -> dict[str, Any]:
    sentences = re.findall(r"[A-Z][^.!?\n]{40,}[.!?]", inputs["source"]["document"]["text"])
    found = [{"claim": quote, "quote": quote, "score": 1.0} for quote in sentences[: inputs.get("limit", 8)]]
    return {"learnings": found}


def _sorted(inputs: Inputs) -> dict[str, Any]:
    sections, names = inputs["plan"]["sections"], [item["id"] for item in inputs["evidence"]]
    count = len(sections)
    return {"sections": [{"section": one, "evidence_ids": names[n::count]} for n, one in enumerate(sections)]}


def _placed(inputs: Inputs) -> dict[str, Any]:
    """Give every piece but the last to the sections in turn."""
    names, numbers = [one["id"] for one in inputs["sections"]], [piece["number"] for piece in inputs["pieces"][:-1]]
    return {"sections": [{"id": name, "pieces": numbers[n :: len(names)]} for n, name in enumerate(names)]}


def _written(inputs: Inputs) -> dict[str, Any]:
    return {"text": "\n\n".join(prose(inputs["passages"], inputs.get("length") or WORDS))}


def prose(passages: list[Any], words: int) -> Iterator[str]:
    """Yield paragraphs of so many words in all, each statement cited, the passages taken again as often as needed."""
    written = count = 0
    while passages and written < words:
        sentences: list[str] = []
        while len(sentences) < 3 and written < words:
            passage = passages[count % len(passages)]
            link = _LINKS[count % len(_LINKS)] if count else "First,"
            quote = passage["quote"].strip().rstrip(".")
            sentences.append(f"{link} {quote[:1].lower()}{quote[1:]} [@{passage['id']}].")
            written, count = written + len(quote.split()) + 2, count + 1
        yield " ".join(sentences)


def _analysis(inputs: Inputs) -> dict[str, Any]:
    names = ("critical", "creative", "analytical")
    evidence = [item for source in inputs["sources"] for item in source["quotes"]]
    shares = [evidence[place :: len(names)] for place in range(len(names))]
    told = [{"name": name, "text": "\n\n".join(prose(share, 80))} for name, share in zip(names, shares, strict=True)]
    return {"perspectives": told}


def _composition(inputs: Inputs) -> dict[str, Any]:
    """Say again what stands at the ends of the sections."""
    texts = [section["text"] for section in inputs["sections"]]
    said = [{"id": name, "quote": quote} for text in texts for quote, name in _CITED.findall(text)]
    summary, conclusion = "\n\n".join(prose(said[:6], 90)), "\n\n".join(prose(said[-3:], 60))
    return {"summary": summary, "conclusion": conclusion, "sections": []}


def _verdicts(inputs: Inputs) -> dict[str, Any]:
    """Find every claim supported, for what the emulated model writes are its passages; and believe what rules found."""
    found = [one["id"] for one in inputs["claims"] if one.get("found")]
    others = [{"id": name, "verdict": "partial", "reason": "as was found", "confidence": 0.8} for name in found]
    sure = [one["id"] for one in inputs["claims"] if not one.get("found")]
    return {"supported": sure, "confidence": 0.9, "others": others}


SAYINGS: Mapping[str, Callable[[Inputs], dict[str, Any]]] = {
    "Plan": _plan,
    "Queries": _queries,
    "Digest": _digest,
    "Review": _review,
    "Learnings": _learnings,
    "Sorted": _sorted,
    "Placed": _placed,
    "Written": _written,
    "Analysis": _analysis,
    "Composition": _composition,
    "ClaimVerdicts": _verdicts,
}
"""By the title of the reply's schema."""


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
