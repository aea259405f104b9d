"""A record as models write it: keys in another case, `null` for nothing, one thing where a list of it is asked for.

What fits a field stays as it is, so a well-formed reply is read as ever; what does not becomes what it plainly means,
or stays and is refused. One way down through the tree, by the fields of the record: the time is linear in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from leadline.citations import cited
from leadline.records import Record
from leadline.replies.shapes import Shape, fields_of, known_by, natural

Tree = Mapping[str, Any]
_NOTHING = frozenset({"", "none", "null", "n/a", "无", "無", "なし"})
"""What stands for an empty list."""
_NOTHING_SAID = re.compile(
    r"(?:none|no|nothing|not any|unchanged|keine?|aucune?|ningun[oa]?|nessun[oa]?)\b|[无無沒没]", re.I
)
"""How a sentence begins that says so where objects were asked for."""
_DEGREE = re.compile(r"^(?:very|fully|quite|rather|clearly) ")
_MEANT = {"moderate": "medium", "not supported": "unsupported", "partially supported": "partial"}
_MEANT |= {"partially covered": "partial", "not covered": "missing", "well covered": "covered"}
_MEANT |= dict.fromkeys(("good", "complete", "completed", "full", "sufficient", "adequate"), "covered")
_MEANT |= dict.fromkeys(("fair", "limited", "incomplete", "some", "weak"), "partial")
_MEANT |= dict.fromkeys(("none", "absent", "uncovered", "not found", "insufficient"), "missing")
_MEANT |= dict.fromkeys(("refuted", "contradictory", "contradicts", "false"), "contradicted")
_MEANT |= dict.fromkeys(("true", "verified", "confirmed", "fully supported", "supports"), "supported")
_MEANT |= dict.fromkeys(("not verified", "unverified", "no evidence", "not found in passages"), "unsupported")
"""Words by what they mean where that is one of the choices."""
_SHARES = {"high": 0.9, "medium": 0.6, "low": 0.3}
_PERCENT = 10.0, 100.0
"""Above the first and up to the second a number without its sign is a percentage; up to the first it may be points."""
_EXACT = 2.0**53
"""From here on numbers with a point are no longer whole numbers exactly."""
_FIGURE = re.compile(r"[~≈]?\s?[$€£¥]?\s?([-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s?[%‰€]?")
"""A number as people write it. What counts in thousands or millions is none: its unit may say so too."""
_WHOLE = re.compile(r"(?:#|no\.?|piece|number|item)?\s?(\d{1,9})", re.IGNORECASE)
_LISTED = re.compile(r"\s*[,;、]\s*")
_RANGE = re.compile(r"#?(\d{1,4})\s?[-–—]\s?#?(\d{1,4})")
_MOST = 200
"""Numbers that a range stands for at most."""
_DIGIT = re.compile(r"\d")
_MARKED = re.compile(r"[\s\[(]*@\s?([^\s\[\]()@,;]+)[\s\])]*|\s*\[([^\s\[\]()@,;]+)\]\s*")
"""An id as a text cites it: `[@a]`, `@a`, `[a]`."""
_ASIDE = frozenset({"id", "section", "sectionid", "priority", "number"})
"""Fields beside a text that say where it belongs."""


def coerced(tree: Tree, model: type[Record]) -> dict[str, Any]:
    """Return the tree as the model has it, as far as it is plain what was meant; unknown keys are let pass."""
    fields = fields_of(model)
    found: dict[str, Any] = {}
    for key, said in tree.items():
        name = key if key in fields else known_by(key, model) or key
        if name not in fields or (name != key and (name in tree or name in found)):
            found[key] = said
            continue
        shape = fields[name].shape
        value = _value(said, shape, name)
        # A number that is said to be none is one that is missing: whoever takes the record gives it.
        if value is not None or shape.nullable or (fields[name].required and not fields[name].numbered):
            found[name] = value
    missing = {name: "" for name, field in fields.items() if field.required and field.numbered and name not in found}
    return missing | found


def _value(said: Any, shape: Shape, name: str = "") -> Any:
    """Return what was said as its shape has it; `name` is that of the field it stands under."""
    if shape.kind in ("record", "choice", "share", "number", "whole") and isinstance(said, list) and len(said) == 1:
        said = said[0]
    if said is None:
        return None
    match shape.kind:
        case "record":
            return _record(said, shape.model)
        case "list":
            return _list(said, shape.items[0])
        case "map" if isinstance(said, dict):
            return {key: _value(item, shape.items[0]) for key, item in said.items()}
        case "text":
            return _text(said, shape, name)
        case "choice":
            return _choice(said, shape.choices)
        case "share":
            return _share(said)
        case "number" | "whole" if isinstance(said, str):
            return _figure(said, shape)
        case _:
            return said


def _record(said: Any, model: type[Record]) -> Any:
    if isinstance(said, str) and natural(model):
        said = {natural(model): said}
    return coerced(said, model) if isinstance(said, dict) else said


def _list(said: Any, item: Shape) -> Any:
    if isinstance(said, str):
        said = _said_list(said, item)
    if isinstance(said, dict) and item.kind == "record":
        said = _keyed(said, item.model)
    elif isinstance(said, dict) and all(key.isdecimal() for key in said):
        said = list(said.values())
    listed = said if isinstance(said, list) else [said]
    if item.kind in ("number", "whole"):
        listed = [number for one in listed for number in (_said_list(one, item) if isinstance(one, str) else [one])]
    return [_value(one, item) for one in listed if one is not None or item.nullable]


def _said_list(said: str, item: Shape) -> Any:
    """Return the list that a text stands for: none of what was asked for, or numbers with commas between.

    Where numbers are asked for, words without one name none: `all others`.
    """
    text = said.strip()
    if text.lower() in _NOTHING:
        return []
    if item.kind == "record" and not natural(item.model) and _NOTHING_SAID.match(text):
        return []
    if item.kind == "text" and not item.prose and (ids := cited(text)):
        return ids
    if item.kind not in ("number", "whole"):
        return said
    parts = [part for part in _LISTED.split(text) if _DIGIT.search(part)]
    return [number for part in parts for number in (_ranged(part) if item.kind == "whole" else [part])]


def _ranged(said: str) -> list[Any]:
    """Return the numbers of a range, `3-5`, of any other text it alone."""
    found = _RANGE.fullmatch(said.strip())
    first, last = map(int, found.groups()) if found else (1, 0)
    return list(range(first, last + 1)) if first <= last < first + _MOST else [said]


def _keyed(said: dict[str, Any], model: type[Record]) -> Any:
    """Return the list that an object stands for whose keys are the ids of the items, or their numbers."""
    fields = fields_of(model)
    if not said or any(known_by(key, model) for key in said):
        return said if said else []
    if all(isinstance(one, dict) for one in said.values()):
        ids = "id" in fields and not all(key.isdecimal() for key in said)
        return [{"id": key} | one if ids and "id" not in one else one for key, one in said.items()]
    needed = [name for name, field in fields.items() if field.required]
    if len(needed) == 2 and needed[0] == "id":
        return [{"id": key, needed[1]: one} for key, one in said.items()]
    return list(said.values()) if all(key.isdecimal() for key in said) else said


def _text(said: Any, shape: Shape, name: str) -> Any:
    if isinstance(said, list):
        texts = [_text(one, shape, name) for one in said if one is not None]
        joined = texts and (shape.prose or len(texts) == 1) and all(isinstance(one, str) for one in texts)
        return "\n\n".join(texts) if joined else said
    if isinstance(said, dict):
        inner = said.get(name) if name in said else _only_text(said, shape)
        return inner if isinstance(inner, str) else said
    if isinstance(said, str) and not shape.prose and (marked := _MARKED.fullmatch(said)):
        return marked[1] or marked[2]
    if isinstance(said, bool) or not isinstance(said, int | float):
        return said
    return str(int(said)) if abs(said) < _EXACT and said == int(said) else str(said)


def _only_text(said: dict[str, Any], shape: Shape) -> Any:
    """Return the one value of an object that stands for a text; of an id the id, of prose not what it belongs to."""
    if not shape.prose and isinstance(said.get("id"), str | int):
        return str(said["id"])
    values = [one for key, one in said.items() if len(said) == 1 or key.casefold().replace("_", "") not in _ASIDE]
    return values[0] if len(values) == 1 else None


def _figure(said: str, shape: Shape) -> Any:
    """Return the number that a text is, as people write numbers."""
    text = said.strip()
    if shape.kind == "whole":
        whole = _WHOLE.fullmatch(text)
        return int(whole[1]) if whole else said
    figure = _FIGURE.fullmatch(text)
    return float(figure[1].replace(",", "").replace("−", "-")) if figure else said


def _choice(said: Any, choices: tuple[Any, ...]) -> Any:
    if said in choices or not isinstance(said, str | int | float):
        return said
    words = " ".join(str(said).casefold().replace("_", " ").replace("-", " ").split())
    known = {str(choice).casefold().replace("_", " ").replace("-", " "): choice for choice in choices}
    plain = _DEGREE.sub("", words)
    return next((known[one] for one in (words, plain, _MEANT.get(plain)) if one in known), said)


def _share(said: Any) -> Any:
    """Return a share of one that was said in percent, or in a word; numbers from 0 to 1 stay as they are."""
    if isinstance(said, str):
        word = _choice(said, tuple(_SHARES))
        if word in _SHARES:
            return _SHARES[word]
        number = _number(said.strip().removesuffix("%"))
        if number is None:
            return said
        return number / 100 if said.strip().endswith("%") else _share(number) if number > 1 else said
    least, most = _PERCENT
    return said / 100 if isinstance(said, int | float) and least < said <= most else said


def _number(said: str) -> float | None:
    try:
        return float(said)
    except ValueError:
        return None
