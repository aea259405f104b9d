"""What the emulator's model says for a long report: its own words for what the passages say, and no statement twice.

A statement is made from a sentence of a passage by other words and another order of its clauses. `variant` chooses
among them, so that two sections that use one passage say the same in different words: what the stage `condense` is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from zlib import crc32

Statement = tuple[str, str]
# From this length of a section on (in words, or as many characters), the emulator writes for a long report.
LONG = 700
_SAME: Mapping[str, tuple[str, ...]] = {
    "use": ("employ", "make use of"),
    "used": ("employed", "put to use"),
    "using": ("with the help of", "by way of"),
    "can": ("is able to", "may"),
    "must": ("has to", "needs to"),
    "should": ("ought to", "had better"),
    "allows": ("permits", "makes it possible for"),
    "provides": ("offers", "supplies"),
    "contains": ("holds", "includes"),
    "many": ("numerous", "a good number of"),
    "several": ("a number of", "various"),
    "often": ("frequently", "commonly"),
    "however": ("yet", "even so"),
    "because": ("since", "as"),
    "but": ("yet", "although"),
    "also": ("likewise", "too"),
    "need": ("require", "call for"),
    "needed": ("required", "called for"),
    "needs": ("requires", "calls for"),
    "new": ("fresh", "recent"),
    "old": ("earlier", "former"),
    "large": ("sizeable", "big"),
    "small": ("little", "minor"),
    "important": ("essential", "significant"),
    "possible": ("feasible", "an option"),
    "different": ("distinct", "unlike"),
    "create": ("set up", "make"),
    "created": ("set up", "made"),
    "change": ("alter", "modify"),
    "changes": ("alters", "edits"),
    "install": ("set up", "put in place"),
    "installed": ("set up", "put in place"),
    "remove": ("delete", "take away"),
    "start": ("launch", "begin"),
    "started": ("launched", "begun"),
    "stop": ("halt", "end"),
    "show": ("display", "list"),
    "system": ("machine", "installation"),
    "systems": ("machines", "installations"),
    "user": ("person", "account holder"),
    "users": ("people", "account holders"),
    "file": ("document", "text file"),
    "files": ("documents", "text files"),
    "command": ("instruction", "program call"),
    "way": ("method", "means"),
    "default": ("preset", "standard setting"),
    "version": ("edition", "release level"),
    "usually": ("as a rule", "normally"),
    "when": ("once", "as soon as"),
    "which": ("and this", "that"),
    "very": ("quite", "highly"),
    "therefore": ("hence", "for that reason"),
    "more": ("further", "additional"),
    "most": ("the greater part of", "nearly all"),
    "each": ("every", "any single"),
    "such": ("of this kind", "like that"),
    "simple": ("plain", "easy"),
    "available": ("at hand", "on offer"),
    "called": ("named", "known as"),
    "known": ("referred to", "familiar"),
    "following": ("next", "listed"),
}
_WORD = re.compile(r"[A-Za-z]+")
_LEADS = ("In practice,", "At the same time,", "On closer view,", "For administrators,", "As to daily work,", "")
_NUMBERED = re.compile(r"([A-Za-z]{3,}(?: [a-z]+)?)[\s:(|,=]{1,4}(\d{1,4})\b(?![.:/-]\d)")
_LINE = re.compile(r"^(\d+\.\d+) (.*)", re.MULTILINE)
_WORDS = re.compile(r"\w+")
_BREAK = re.compile(r", (?=(?:and|but|which|or|so|while|because|since|where|if|when)\b)")


def reworded(sentence: str, variant: int) -> str:
    """Return a sentence in other words, without its full stop."""
    text = sentence.strip().rstrip(".")
    parts = _BREAK.split(text, maxsplit=1)
    if len(parts) > 1 and variant % 2:
        first, second = parts
        text = f"{second[:1].upper()}{second[1:]}; {first[:1].lower()}{first[1:]}"

    def other(match: re.Match[str]) -> str:
        word = match[0]
        choices = _SAME.get(word.lower())
        if not choices:
            return word
        chosen = choices[(variant + len(word)) % len(choices)]
        return chosen[:1].upper() + chosen[1:] if word[0].isupper() else chosen

    return _WORD.sub(other, text)


def topics(question: str) -> list[str]:
    """Return what a question lists after its colon: each is a section of a long report."""
    listed = question.partition(":")[2].rstrip("?. ")
    return [topic.strip().removeprefix("and ") for topic in listed.split(",") if topic.strip()]


def long_plan(question: str, least: int, most: int) -> dict[str, Any]:
    """Return a plan with a section and a search for each topic, within the wanted size."""
    found = topics(question)[:most]
    found += [f"further aspects {number}" for number in range(len(found), least)]
    goal = "Say what the sources establish about {topic}."
    sections = [
        {
            "id": str(place),
            "title": topic.capitalize(),
            "goal": goal.format(topic=topic),
            "grid": "",
            "questions": [one.format(topic=topic) for one in _ASKED],
            "domain": _DOMAINS[place % len(_DOMAINS)],
        }
        for place, topic in enumerate(found, start=1)
    ]
    queries = [
        {
            "query": topic,
            "goal": goal.format(topic=topic),
            "category": _DOMAINS[place % len(_DOMAINS)],
            "priority": str(1 + place * 5 // (len(found) + 1)),
            "section": str(place),
        }
        for place, topic in enumerate(found, start=1)
    ]
    title = re.split("[:：]", question, maxsplit=1)[0].strip()
    return {"title": title, "queries": queries, "scope": "", "form": "", "sections": sections}


_ASKED = ("How does {topic} work?", "Which tools and rules belong to {topic}?", "{topic} in practice")
_DOMAINS = ("overview", "technical", "operations", "security", "history")


def long_section(said: Sequence[Statement], words: int, title: str) -> str:
    """Return paragraphs of at most so many words; each statement once, in words that depend on the title."""
    variant, written = crc32(title.encode()) % 7, 0
    paragraphs: list[str] = []
    sentences: list[str] = []
    heading = len(said) // 2
    for count, (sentence, number) in enumerate(usable(said)):
        if written >= words:
            break
        text = reworded(sentence, variant + count)
        lead = _LEADS[(variant + count) % len(_LEADS)]
        text = f"{lead} {text[:1].lower()}{text[1:]}" if lead and not text[:2].isupper() else text
        sentences.append(f"{text} [{number}].")
        written += len(text.split())
        if len(sentences) == 4:
            paragraphs.append(" ".join(sentences))
            sentences = []
        if count == heading:
            paragraphs.append(f"### {title}: further points")
    if paragraphs and paragraphs[-1].startswith("#"):
        paragraphs.pop()
    return "\n\n".join([*paragraphs, *filter(None, [" ".join(sentences)])])


def usable(said: Sequence[Statement]) -> Iterator[Statement]:
    """Yield statements that are whole sentences of prose, each once."""
    seen: set[str] = set()
    for sentence, number in said:
        plain = " ".join(sentence.split())
        if plain not in seen and not re.search(r"[\"“”|`$#<>=]|\.\w", plain) and 8 <= len(plain.split()) <= 45:
            seen.add(plain)
            yield plain, number


def long_parts(said: Sequence[Statement]) -> dict[str, Any]:
    """Return the parts around the sections: each of their statements joins what two sections say, in few words."""
    picked = [one for one in said if len(one[0].split()) >= 10]
    third = len(picked) // 3
    groups = list(zip(picked[:third], picked[third:], picked[2 * third :], strict=False))

    def joined(group: Sequence[Statement], variant: int) -> str:
        one, two, three = (_beginning(sentence, variant + at) for at, (sentence, _) in enumerate(group))
        numbers = "".join(f"[{number}]" for _, number in group)
        return f"{one[:1].upper()}{one[1:]}, {_JOINS[variant % len(_JOINS)]} {two}, and {three} {numbers}."

    def prose(chosen: Sequence[Sequence[Statement]], variant: int, size: int) -> str:
        texts = [joined(group, variant + at) for at, group in enumerate(chosen)]
        return "\n\n".join(" ".join(texts[at : at + size]) for at in range(0, len(texts), size))

    return {
        "summary": prose(groups[0::4][:12], 3, 3),
        "keywords": ["Debian", "administration", "packages", "security", "services"],
        "introduction": prose(groups[1::4][:12], 5, 3),
        "insights": "\n".join(f"- {line}" for line in prose(groups[2::4][:7], 2, 1).split("\n\n")),
        "analysis": prose(groups[2::4][7:], 1, 3),
        "conclusion": prose(groups[3::4][:12], 4, 4),
    }


_JOINS = ("while at the same time", "just as", "and, on the other hand,", "which goes together with the fact that")


def _beginning(sentence: str, variant: int) -> str:
    """Return the first words of a sentence in other words."""
    text = " ".join(reworded(sentence, variant).split()[:7]).rstrip(",;:")
    return f"{text[:1].lower()}{text[1:]}"


def repeats(text: str) -> dict[str, Any]:
    """Name statements that share four fifths of their longer words with an earlier one."""
    lines = [(number, _units(line)) for number, line in _LINE.findall(text)]
    found: list[dict[str, str]] = []
    gone: set[str] = set()
    for place, (number, words) in enumerate(lines):
        for earlier, others in lines[:place]:
            shared = len(words & others)
            if earlier not in gone and shared >= 5 and shared >= 0.8 * min(len(words), len(others)):
                found.append({"statement": number, "of": earlier})
                gone.add(number)
                break
    return {"repeats": found}


def _units(text: str) -> set[str]:
    """Return the longer words of a text."""
    return {word.lower() for word in _WORDS.findall(text) if len(word) > 3}


def charts(passages: Mapping[str, str]) -> dict[str, Any]:
    """Plan a chart for each of the first passages that name three things with a number each."""
    made: list[dict[str, Any]] = []
    for number, passage in passages.items():
        if "case" in passage:  # of the emulator's own pages, whose numbers are of no kind
            continue
        pairs = dict(_NUMBERED.findall(passage))
        rows = [
            {"label": label, "series": "", "value": float(value), "passage": int(number)}
            for label, value in pairs.items()
        ]
        if len(rows) >= 2 and len(made) < 3:
            title = f"Numbers of {', '.join(list(pairs)[:2])} and others"
            base = {"title": title, "type": "bar", "unit": "", "x_label": "Subject", "y_label": "Number"}
            made.append(base | {"rows": rows[:6], "section": 1, "code": ""})
    return {"charts": made}


def nearest(claim: str, sentences: Sequence[str]) -> str:
    """Return the sentence that shares most words with a claim, if it shares two fifths of the claim's longer words."""
    words = _units(claim)
    best = max(sentences, key=lambda one: len(words & _units(one)), default="")
    return best if words and len(words & _units(best)) >= 0.4 * len(words) else ""
