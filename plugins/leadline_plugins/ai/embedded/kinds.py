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
_BRIEF = (
    "analy[sz]e|assess|collect|compile|conduct|critique|debate|develop|draft|elaborate|evaluate|examine|explore|gather"
    "|illustrate|investigate|outline|prepare|produce|research|study|synthesi[sz]e|write"
)
"""What a report is asked for with, where it opens a sentence or follows a wish: elsewhere most are nouns as well."""
_WISH = (
    r"^|[.;:!?\n]\s*|\bplease\s+(?:\w+\s+)?|\b(?:can|could|would|will) you\s+(?:please\s+)?|\bhelp me\s+(?:to\s+)?"
    r"|\bI (?:need|want|would like|['’]d like)\s+(?:you\s+)?to\s+"
)
_ACCOUNT = _any(
    r"\b(?:explain|describe|overview|compar|discuss|summari[sz]e|introduc|history of|review|survey)\w*",
    rf"(?:{_WISH})(?:{_BRIEF})\b",
    r"\b(?:in-depth|comprehensive|detailed|thorough)\s+(?:\w+\s+)?(?:account|analysis|guide|report|research|study)\b",
    r"\b(?:report|essay|paper|analysis) (?:on|of|about)\b|\b(?:related[- ]work|literature) (?:section|review)\b",
    r"\b(?:dis)?advantages\b|\bpros and cons\b",
    r"\b(?:benefits|drawbacks|effects?|impacts?|implications|consequences)\s+of\b",
    r"\baffects?\b|\b(?:challenges|trends|prospects|approaches|arguments)\b",
    r"\bshould\b|\bought to\b|\bopinion on\b|\bdo you (?:agree|think)\b|\bwhat (?:might|would|could) happen\b",
    rf"^\s*(?:why|how(?! (?:{_HOW_MUCH})\b))\b",
    r"^\s*(?:must|can|could|would|will|do|does|has|have)\b(?!.*\b(?:both|either|the same)\b)",
    "介[绍紹]|比[较較]|概[述要]|[说說]明|説明|紹介",
    "(?:^|[，,、。；;：:\\s]|[请請帮幫为為给給][我忙]?|[并並]|如下|[我们們])(?:详细|詳細|深入|全面)?"
    "(?:分析|研究|调研|調研|调查|調查|总结|總結|探讨|探討|论述|論述|评估|評估|评价|評價|收集|梳理|整理|撰写|撰寫)(?![生所院者员員])",
    "报告|報告|[综綜]述|优缺点|優缺點|利弊|[趋趨][势勢]|前景",
    "(?:分析|考察|評価|調査|検討|研究)(?:し|せよ|を行)|論じ|まとめて|レポート|メリット|動向|傾向|今後",
)
"""Requests for a report, what takes more than a sentence to tell, and what no sentence settles: `should …`."""
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


_FIGURES = _any(
    r"\b(?:amounts?|sizes?|figures?|percentages?|shares? of|how (?:many|much|large|big|high|low|often))\b",
    "多少|几何|規模|规模|金额|金額|占比|比重|数据|數據|数字|數字|データ|金額|割合|いくら|どのくらい|どれくらい",
)
_AMOUNT = _any(
    r"[$€£¥]\s?\d",
    r"\d\s?(?:[%％‰]|percent\b|(?:hundred|thousand|[mbtr]+illion|bn|[kmb])\b|[百千万萬亿億兆]|[元吨噸円]|美元|人民币|倍)",
)


def wants_figures(asked: str) -> bool:
    """Return whether amounts are asked for, beside other things or alone."""
    return bool(_FIGURES.search(asked))


def has_amount(sentence: str) -> bool:
    """Return whether a sentence tells an amount: a sum, a share, a figure with its scale; a bare one may be a year."""
    return bool(_AMOUNT.search(sentence))


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
