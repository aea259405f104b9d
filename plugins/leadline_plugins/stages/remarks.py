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
from leadline_plugins.stages.lacking import HAN_LACKING, HAN_SO, LACKING, OPEN, SO, only_lacks
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
    bare = said.rstrip(".。!！ ")
    lacks = LACKING.match(bare) or OPEN.match(bare) or HAN_LACKING.match(bare)
    return bool(lacks) or only_lacks(bare) or _is_own(said)


def _counts(said: str, *, years: bool = False) -> bool:
    """Return whether a sentence has a figure: in digits, years aside where they may stand, or a larger one in words."""
    said = _YEAR.sub("", said) if years else said
    return any(sign.isdigit() for sign in said) or any(one.value > _SMALL for one in figures(said))


def _of_sources(said: str, around: str) -> bool:
    """Return whether a sentence says nothing but what the sources lack, and what cannot be told for it."""
    # Its figures are counted last: hardly any sentence comes as far as that.
    said = said.rstrip(".。!！ ")
    if only_lacks(said):
        return not _counts(said, years=True)
    if has_cjk(said):
        parts = [part for part in _HAN_PARTS.split(said) if part]
        lacks = [bool(HAN_LACKING.match(part)) for part in parts]
        longest = (_HAN_REASON if _HAN_FACTIVE.search(part) else _HAN_OBJECT for part in parts)
        short = all(len(part) <= most for part, most in zip(parts, longest, strict=True))
        return (
            short
            and lacks[:1] == [True]
            and all(lack or HAN_SO.match(part) for lack, part in zip(lacks, parts, strict=True))
            and not _counts(said, years=True)
        )
    parts = [part for part in _PARTS.split(said) if part]
    if not parts or not (LACKING.match(parts[0]) or OPEN.match(parts[0])) or _counts(said, years=True):
        return False
    strict = any(_FACTIVE.search(part) or OPEN.match(part) for part in parts)
    if strict and states_more(said, around):
        return False
    return all(_is_lack(part, around) for part in parts)


def _is_lack(part: str, around: str) -> bool:
    """Return whether a part only tells what is lacking: what `and` joins to it has no verb of its own.

    Names are what the lack is of where they end it, joined by `or`, or spoken of `around`.
    """
    if _APART.search(part) or not (LACKING.match(part) or OPEN.match(part) or SO.match(part)):
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
