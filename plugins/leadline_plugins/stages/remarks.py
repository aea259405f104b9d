"""Sentences that state nothing of the world: questions, words about the sources, inferences that say they are some.

No passage can bear them, and none has to. What is taken for one is judged by nobody, so the rules are strict: each part
of the sentence must be of that kind, with no figure, no reason and no fact beside it, and with no name that its
surroundings do not speak of. What is only nearly one is a claim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.naming import missing_names, stands
from leadline_plugins.text import length
from leadline_plugins.text.tokens import has_cjk

RemarkKind = Literal["question", "sources", "inference"]
_SMALL = 3
"""Up to here a number in words is none that somebody found out: `the two tools`."""
_FEW = 30
"""Words, or characters of Chinese, of what a model may call a remark."""
_QUOTED = re.compile(r"[\"“”„«»「『《]|\b[A-Z]{2,}")
_LONGEST = 400
"""Characters; what is longer tells something on its way."""

_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_QUESTION = re.compile(r"[^.!。！;；:：—?？]+[?？][\"'”’」』)）*_\s]*")
_NO_QUESTION = re.compile(
    r"(?:^|\W)(?:\w+n['’]t|given|since|because|although|though|after|before|now that|considering|you know|right|correct"
    r"|do we not|is it not)\b"
    r"|难道|難道|岂|豈|不是[吗嗎]|[对對][吗嗎]|是吧|知道|既然|由于|由於|因[为為]|[鉴鑑]于|之后|之後",
    re.IGNORECASE,
)
"""What asks nothing, but says something in the form of a question or on its way."""

_HERE = r"(?:gathered|cited|given|at\shand|in\shand|here|found|read|provided|available|collected|used|above|quoted)"
_SOURCES = (
    r"(?:(?:the|these|those|any|all|available|present|given|cited|collected|gathered|retrieved|other)\s+)*"
    rf"(?:(?:passages?|sources?|excerpts?)(?:\s+{_HERE})*"
    rf"|(?:evidence|materials?|documents?)(?:\s+{_HERE})+|what\swas\s(?:found|read|gathered))"
)
"""Evidence, material and documents may be of the world, and are the text's own only where it says so."""
_TELL = (
    r"(?:say|tell|state|give|list|name|mention|report|compare|quantify|specify|address|cover|contain|include|provide"
    r"|show|measure|rank|forecast|predict|explain|discuss|describe|settle|answer|determine|offer|speak|assess|examine"
    r"|test|indicate|reveal|disclose|identify|present|detail|distinguish|allow|go\sinto|break\sdown|single\sout|draw)"
    r"(?:s|es)?\b(?!\s+that\b)"
)
_GIVE = r"(?:give|list|name|contain|include|provide|offer|draw)s?"
_SPEAK = r"(?:say|tell|state)s?"
_TOLD = (
    r"(?:said|told|stated|given|listed|named|mentioned|reported|compared|quantified|specified|addressed|covered|found"
    r"|shown|measured|explained|discussed|described|settled|answered|established|recorded|disclosed|documented)"
)
_LACKING = re.compile(
    rf"""(?:however|here|still|yet|and|but)?,?\s*(?:
      (?:none\ of|neither\ of|not\ one\ of|no|neither)\s+{_SOURCES}\s+(?:directly\s+)?{_TELL}
    | {_SOURCES}\s+(?:also\s+|themselves\s+)?(?:
        (?:(?:do|does|did|can|could)\s*(?:not|n['’]t)|cannot|hardly|scarcely|barely|nowhere|never)
          \s+(?:directly\s+|itself\s+|themselves\s+|yet\s+)?{_TELL}
      | {_GIVE}\s+(?:no|none|neither)\b
      | {_SPEAK}\s+(?:nothing|little)(?:\s+(?:of|about|on)\b|$)
      | (?:is|are|remain|remains)\s+silent\b | lacks?\b | leaves?\s+(?:\w+\s+){{0,4}}open\b)
    | [^,]{{2,90}}\s(?:is|are|was|were)\s+(?:not|nowhere|never)
      \s+{_TOLD}\s+(?:in|by)\s+(?:either|any|any\ of)?\s*{_SOURCES}
    | [^,]{{2,60}}\s(?:is|are)\s+(?:scarce|rare|missing|absent|lacking)\s+(?:in|from)\s+{_SOURCES}
    | what\s[^,]{{2,90}}\s(?:no|none\ of\ the|neither)\s{_SOURCES}\s{_TELL}$
    | nothing\s(?:can\ be|is)\ said\ (?:of|about|on)\s[^,]{{2,60}}$
    | a\ (?:direct|clear|full)\ (?:answer|comparison)\ is\ (?:missing|lacking)$
    | no\s[^,]{{2,90}}\sin\s+{_SOURCES}$ )""",
    re.IGNORECASE | re.VERBOSE,
)
_SO = re.compile(
    rf"""(?:and|so|hence|thus|therefore|which\ means\ that)?,?\s*(?:
      what\ (?:it|they|{_SOURCES})\ (?:do\ |does\ )?(?:says?|contains?|shows?|gives?|offers?)\ (?:is|are)\b
    | what\ follows\ is\b
    | it\ would\ be\ wrong\ to\ (?:read|take)\ (?:their|its|this|that)\ (?:absence|silence)\ as\b
    | (?:the|this|a|no|any)\ (?:direct\ )?(?:comparison|question|point|answer|ranking|conclusion|judgement|judgment)\s
      (?:(?:has|have)\ to|must|can|cannot|could|remains?|is|stays)\b
    | (?:the|this)\s(?:\w+\s){{1,3}}(?:remains?|stays|is\sleft)\s(?:open|unclear|undecided|unsettled)$
    | (?:it|this)\ (?:cannot|can\ not|remains|must|has\ to)\ (?:be\ )?
      (?:open|unclear|left|decided|judged|said|told)\b )""",
    re.IGNORECASE | re.VERBOSE,
)
_PARTS = re.compile(
    r"\s*(?:[;:—]|,\s+(?=(?:and|but|so|yet|while|though|although|which|whereas|hence|thus|therefore)\b))\s*"
)
_AND = re.compile(r"\s(and|or|but|while|whereas)\s")
_ENDS_NAMED = re.compile(r"[^A-ZÀ-Þ]*(?:[A-ZÀ-Þ][\w.'’-]*(?:\s|$))+")
"""What has names at its end alone: none does anything there, as what has a verb behind it may."""
_APART = re.compile(r",\s+(?:an?|the)\s", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:\w{2,}ed|is|are|was|were|has|have|had|did|does|do|will|would|can|could|may|rose|fell|grew|went|became|made|paid"
    r"|won|lost|led|took|gave|got|ran|shot|hid|cut|stole|built|sold|bought|began|broke|drove|kept|left|sent|spent)\b",
    re.IGNORECASE,
)
_FACTIVE = re.compile(r"\b(?:why|how|when|where|who|reasons?|causes?|despite|after|before|because|since|that)\b", re.I)
_GUESSED = re.compile(
    r"\b(?:it|this)\s(?:may|might|could)\s(?:well\s)?be\s(?:that\s[^.;:]*?\s)?because\s(?:\w+\s){1,4}?"
    r"(?:can|cannot|could|may|might|must|need|would)\b",
    re.IGNORECASE,
)
"""A reason that is guessed too: it stands in what may be, and is itself no more than what can or may be."""
_FIRM = re.compile(r"\b(?:because|since|after|although|though|despite|given that|as a result of)\b", re.IGNORECASE)

_HAN_SOURCES = (
    r"(?:就|在|从|從)?(?:(?:现有|現有|所给|所給|上述|上面|这些|這些|该|該|所引|已有|给定|給定|提供的|手头的?|目前的?|本次|全部)的?)*"
    r"(?:段落|资料|資料|来源|來源|材料|文中|原文|引文|摘录|摘錄)(?:中|里|裡|内|內|本身)?"
    r"(?:均|都|也|并|並|尚|仍|皆|还|還)*"
)
_HAN_TELL = (
    r"(?:直接|明确|明確|具体|具體|逐一|单独|單獨|详细|詳細|系统地?|进一步|給出?|给出?)*"
    r"(?:列出|给出|給出|说明|說明|提及|提到|提供|涉及|谈到|談到|谈及|談及|比较|比較|指出|量化|区分|區分|回答|讨论|討論|披露"
    r"|报告|報告|记载|記載|解释|解釋|包含|显示|顯示|交代|评估|評估|预测|預測|覆盖|对比|對比|测量|描述|界定|注明|公布|统计|出现|出現)"
)
_HAN_LACKING = re.compile(
    rf"(?:但|不过|不過|然而)?(?:{_HAN_SOURCES}(?:没有|沒有|未|未能|不曾|并未|並未|无法|無法|不足以){_HAN_TELL}"
    rf"|{_HAN_SOURCES}(?:缺乏|缺少)|(?:目前)?(?:缺乏|缺少)(?:相关|相關|直接|可比|足够|足夠|进一步)?的?(?:数据|數據|资料|資料|证据|證據|信息|資訊))"
)
_HAN_SO = re.compile(
    r"(?:因此|因而|所以|故|从而|從而|由此)?(?:也|暂|暫|尚)?"
    r"(?:(?:无法|無法|难以|難以|不能|不宜|有待|尚待|只能留待)(?:据此|據此|逐一|逐家|直接|进行|進行)*"
    r"(?:比较|比較|判断|判斷|得出|回答|确定|確定|量化|估计|估計|补充|補充|评估|評估|核实|核實|下结论|下結論|对比|對比)"
    r"|(?:这|這|该|該|此)(?:一|个|個)?(?:问题|問題|点|點|方面|项|項)(?:仍|尚|还|還)?(?:有待|需要?|待))"
)
_HAN_PARTS = re.compile(r"[，,；;：:]|——")
_HAN_FACTIVE = re.compile(r"为何|為何|为什么|為什麼|原因|如何|怎样|怎樣")
_HAN_OBJECT = 40
"""Characters that one part of a Chinese sentence about its sources may have."""
_HAN_REASON = 16
"""Characters that it may have where it speaks of a reason, which there must be one for."""

_SAYS = r"(?:says?|draws?|states?|makes?|reports?)(?:\s+(?:so|it|this|that|itself|themselves))?"
_OWN = re.compile(
    rf"""\b(?:no|none\ of\ the)\s+(?:source|passage)s?\s+{_SAYS}
    | \b(?:an|our\ own|my\ own|the\ text['’]s\ own|own)\s+(?:inference|extrapolation|conjecture)\b(?=
        (?:\s+(?:that|which))?\s+(?:the|no)\s+(?:source|passage)s?\s+(?:(?:do|does)\s+not\s+)?{_SAYS}
        | \s+and\s+not\s+(?:a|an|the)\s | \s+of\s+(?:this|the)\s+(?:text|report)\b | \s*:)
    | \b(?:the\ )?(?:source|passage)s?\s+(?:do|does)\s+not\s+{_SAYS}
    | (?:推断|推斷|推论|推論|推测|推測)[，,]?(?:而|并|並)?(?:非|不是)(?:来源|來源|资料|資料|原文|段落)
    | (?:来源|來源|资料|資料|原文|段落)(?:本身)?(?:并|並)?(?:未|没有|沒有)(?:这样|這樣|如此|直接)(?:说|說|得出|指出)
    | (?:本文|笔者|筆者)(?:自己)?的(?:推断|推斷|推论|推論|推测|推測)""",
    re.IGNORECASE | re.VERBOSE,
)
"""What says in so many words that no source says it."""
_OWN_WORDS = ("source", "passage", "inference", "extrapolation", "conjecture", *"推来來资資原段")
"""One of these is in whatever that finds. It is tried at each sign of a text, and hardly any has one."""
_MODAL = re.compile(
    r"\b(?:may|might|could|would|will|should|can|likely|unlikely|probably|perhaps|suggests?|seems?|appears?|if|reading)\b"
    r"|可能|或许|或許|也许|也許|大概|恐怕|若|如果|似乎|意味着|意味著|将|將|会|會",
    re.IGNORECASE,
)


def remark(sentence: str, around: str) -> RemarkKind | None:
    """Return what kind of remark a sentence is; None for one that states something. `around` stands about it."""
    said = sentence.strip().strip("*_ ")
    if len(said) > _LONGEST:
        return None
    if _QUESTION.fullmatch(said):
        return None if _NO_QUESTION.search(said) or states_more(said, around) else "question"
    if _of_sources(said, around):
        return "sources"
    own = _is_own(said) and _MODAL.search(said)
    firm = own and _FIRM.search(_GUESSED.sub("", _OWN.sub("", said.replace("though no", "no"))))
    return "inference" if own and not firm and not states_more(said, around) else None


def _is_own(said: str) -> bool:
    folded = said.lower()
    return any(word in folded for word in _OWN_WORDS) and bool(_OWN.search(said))


def states_more(said: str, around: str) -> bool:
    """Return whether a sentence has a figure, or a name that nothing around it speaks of."""
    return _counts(said) or bool(missing_names(said, around))


def tells_nothing(said: str, under: str = "") -> bool:
    """Return whether a sentence is short and has no figure, name or quotation: a model may call it a remark.

    What it is about may be named: the names and years of the headings that it stands `under`.
    """
    return (
        length(said) <= _FEW
        and not _QUOTED.search(said)
        and set(_YEAR.findall(said)) <= set(_YEAR.findall(under))
        and not _counts(said, years=True)
        and not missing_names(said, under)
    )


def speaks_of_sources(said: str) -> bool:
    """Return whether a sentence begins with what the sources lack, or says that none says it, whatever else it says."""
    said = said.strip().strip("*_ ")
    return bool(_LACKING.match(said) or _HAN_LACKING.match(said)) or _is_own(said)


def _counts(said: str, *, years: bool = False) -> bool:
    """Return whether a sentence has a figure: in digits, years aside where they may stand, or a larger one in words."""
    said = _YEAR.sub("", said) if years else said
    return any(sign.isdigit() for sign in said) or any(one.value > _SMALL for one in figures(said))


def _of_sources(said: str, around: str) -> bool:
    """Return whether a sentence says nothing but what the sources lack, and what cannot be told for it."""
    # Its figures are counted last: hardly any sentence comes as far as that.
    said = said.rstrip(".。!！ ")
    if has_cjk(said):
        parts = [part for part in _HAN_PARTS.split(said) if part]
        lacks = [bool(_HAN_LACKING.match(part)) for part in parts]
        longest = (_HAN_REASON if _HAN_FACTIVE.search(part) else _HAN_OBJECT for part in parts)
        short = all(len(part) <= most for part, most in zip(parts, longest, strict=True))
        return (
            short
            and lacks[:1] == [True]
            and all(lack or _HAN_SO.match(part) for lack, part in zip(lacks, parts, strict=True))
            and not _counts(said, years=True)
        )
    parts = [part for part in _PARTS.split(said) if part]
    if not parts or not _LACKING.match(parts[0]) or _counts(said, years=True):
        return False
    strict = any(_FACTIVE.search(part) for part in parts)
    if strict and states_more(said, around):
        return False
    return all(_is_lack(part, around) for part in parts)


def _is_lack(part: str, around: str) -> bool:
    """Return whether a part only tells what is lacking: what `and` joins to it has no verb of its own.

    Names are what the lack is of where they end it, joined by `or`, or spoken of `around`.
    """
    if _APART.search(part) or not (_LACKING.match(part) or _SO.match(part)):
        return False
    first, *more = _AND.split(part)
    return all(
        not _VERB.search(one)
        and (not (absent := missing_names(f"x {one}", first)) or _of_it(one, joint == "or", absent, around))
        for joint, one in zip(more[::2], more[1::2], strict=True)
    )


def _of_it(said: str, alternative: bool, absent: Sequence[str], around: str) -> bool:
    """Return whether names are only what a lack is of."""
    known = alternative or all(stands(name, around) for name in absent)
    return known and bool(_ENDS_NAMED.fullmatch(said))
