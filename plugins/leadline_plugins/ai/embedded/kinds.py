"""Kinds of answers: how a question asks for one, and what shows it in a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Kind = Literal["number", "time", "person", "place", "reason", "manner", "thing"]


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_HOW_MUCH = "many|much|old|tall|long|far|large|big|high|low|deep|wide|broad|thick|steep|heavy|fast|slow|often|hot|cold"
MEASURE = _any(
    rf"(?<=\bhow )(?:{_HOW_MUCH})\b",
    r"(?<=\bwie )(?:viele?|hoch|lang|lange|tief|weit|breit|groß|alt|schwer|schnell|oft|teuer|heiß|kalt|dick)\b",
    r"\bcombien\b",
    r"\bcu[aá]nt[oa]s?\b|(?<=\bqué tan )\w+",
    r"\bquant[oiae]s?\b",
    r"(?<=\bhoe )(?:veel|hoog|lang|diep|ver|breed|groot|oud|zwaar|snel|vaak|duur)\b",
    "有?多[高长長深大远遠宽寬厚久重快少]",
)
"""Words of a question that only say of which kind the figure is that it asks for: an answer seldom repeats them."""
_ASKS: Mapping[Kind, re.Pattern[str]] = {
    "number": _any(
        rf"\bhow (?:{_HOW_MUCH})\b",
        r"\b(?:percentage|population|number) of\b",
        "多少|几[个名座位种次条人岁]|幾[個名座位種次條人歲]",
        "いくつ|どのくらい|どれくらい|何[人個回年間歳位番枚台冊社か国%パ円キメ]",
    ),
    "time": _any(
        r"\bwhen\b|\bwh(?:at|ich) (?:year|date|day|month|century|decade)\b",
        "哪一?年|何[时時]|什[么麼][时時]候|哪天|几月|いつ|何月|何世紀",
    ),
    "person": _any(r"\bwho(?:m|se)?\b", "谁|誰|哪位|哪个人|何人"),
    "place": _any(
        r"\bwhere\b|\bwh(?:at|ich) (?:city|country|state|place|county|town|location|province|region)\b",
        "哪[里裡儿]|何[处處]|位于|どこ|何県|何市",
    ),
    "reason": _any(r"\bwhy\b|\bwhat (?:caused|causes)\b", "[为為]什[么麼]|[为為]何|なぜ|どうして|原因|理由"),
    "manner": _any(r"\bhow\b", "怎[么麼样樣]|如何|どのように|どうやって"),
}
"""The first that matches is taken: `how many` before `how`."""
_ACCOUNT = _any(
    r"\b(?:explain|describe|overview|compar|discuss|summari[sz]e|introduc|history of|review|survey)\w*",
    "介[绍紹]|比[较較]|概[述要]|[说說]明|説明|紹介",
)
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_SHOWS: Mapping[Kind, re.Pattern[str]] = {
    "number": _any(
        r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|[mb]illion|half)\b",
        "[一二三四五六七八九十百千万億亿两]",
    ),
    "time": _any(
        r"\b(?:1\d|20)\d\d\b|\bcentury\b|\d\s*[ap]\.?m\b",
        rf"\b{_MONTH}[a-z]*\.? \d|\d {_MONTH}",
        r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:spring|summer|autumn|winter)\b",
        r"[一二三四五六七八九十\d]\s*(?:年|月|日|世[紀纪])|[时時]代|期",
    ),
    "reason": _any(
        r"\b(?:because|since|due to|caus|result|so that|therefore|thus|reason|owing|led to|in order to|allow)",
        "因|由于|由於|所以|[为為]了|ため|から|ので|により|によって",
    ),
}


def kind_of(question: str) -> Kind:
    """Return the kind of answer a question asks for; `thing` where no word of it says."""
    return next((kind for kind, pattern in _ASKS.items() if pattern.search(question)), "thing")


def wants_account(question: str) -> bool:
    """Return whether an account is asked for rather than a fact: reasons, manners, comparisons, overviews."""
    return kind_of(question) in ("reason", "manner") or bool(_ACCOUNT.search(question))


def shows(kind: Kind, sentence: str) -> bool:
    """Return whether a sentence shows what the kind is known by; true for kinds without such marks."""
    pattern = _SHOWS.get(kind)
    return pattern is None or bool(pattern.search(sentence))
