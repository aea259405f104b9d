"""What a passage only expects, plans or holds possible, and a claim tells as a fact or as certain to come."""

from __future__ import annotations

import re
from collections.abc import Iterator

from leadline_plugins.text import content_set

_VERB = 4
"""Letters that forms of a verb have in common."""
_ADVERBS = r"(?:(?:\w+ly|have|be)\s+)*"
_EXPECTED = re.compile(
    r"\b(?:(?:should|may|might|could|will)(?:\s+(?:also|well|soon|eventually|then|still))?"
    r"|(?:is|are|was|were)\s+(?:\w+ly\s+)?(?:expected|likely|projected|predicted|planned|set|due|supposed|slated)\s+to"
    rf"|(?:expect|plan|hope|aim|intend|want)s?\s+to)\s+{_ADVERBS}(?P<verb>[a-z]{{4,}})",
    re.IGNORECASE,
)
_AIM = r"(?:target|seek|sought|aim|plan|propos|consider|contemplat|envisag|intend|weigh|mull|goal|ambition|objective)"
_AIMED = re.compile(
    rf"\b{_AIM}(?:s|es|ed|ing|e)?\s+(?:(?:at|on|of|to|for|towards?|an?|the|further|gradually)\s+){{0,2}}"
    r"(?P<verb>[a-z]{2,}ing|(?<=to\s)[a-z]{4,})\b",
    re.IGNORECASE,
)
"""What somebody only sets out to do: targets raising it."""
_MET = re.compile(r"\b(?:reach|me[et]|achiev|exceed|hit|surpass|fulfil|beat)\w*\s+(?:\w+\s+){0,2}$", re.IGNORECASE)
"""What tells before an aim that it came about."""
_BEFORE = 30
"""Characters before an aim in which that stands."""
_AIMS = re.compile(rf"\b{_AIM}\w*", re.IGNORECASE)
_POSSIBLE = re.compile(
    r"\b(?:(?:may|might|could)(?:\s+(?:also|well|soon|eventually|then|still))?|(?:hope|aim|want)s?\s+to)"
    rf"\s+{_ADVERBS}(?P<verb>[a-z]{{3,}})"
)
"""What may come about, or is only wished: May, the month, has a capital."""
_COMING = re.compile(rf"\b(?:will|shall)\s+(?:also\s+|soon\s+|then\s+)?{_ADVERBS}(?P<verb>[a-z]{{3,}})", re.IGNORECASE)
_FIRM = re.compile(r"will|shall", re.IGNORECASE)
_OPEN = re.compile(
    r"\b(?:should|(?-i:may)|might|could|would|will|shall|can|expect\w*|(?:un)?likely|project\w*|predict\w*|plan(?:s|ned|ning)?|forecast\w*"
    r"|due(?!\s+to\b)|(?:is|are|was|were)\s+to\s+be|suppos\w+|slated|hop\w+|aim\w*|intend\w*|want\w*|possib\w+|potential\w*|perhaps|probabl\w+|suggest\w*|seem\w*"
    r"|appear\w*|estimat\w+|if|wh(?:ether|en))\b",
    re.IGNORECASE,
)
"""What leaves a claim of English open itself."""
_DONE = re.compile(
    rf"\b(?:(?:has|have|had)\s+(?:(?:not|also|now|since|been|\w+ly)\s+)*(?P<perfect>[a-z]{{{_VERB},}})"
    r"|(?P<past>[a-z]{2,}ed|built|meant|dealt|learnt|burnt|spelt))\b",
    re.IGNORECASE,
)
"""A verb in the past or perfect: what tells that something has come about."""
_HAN_POSSIBLE = (
    "有望|可能(?!性?[较較]?[小低])|或[将將会會]|或(?=[达達超增升降突有为為成])|也许|也許|不排除|力争|力爭"
    "|[争爭]取(?!到)"
)
_HAN_EXPECTED = re.compile(
    rf"(?P<said>(?P<possible>{_HAN_POSSIBLE})|[预預][计計期测測]|料[将將]|[计計][划劃]|即[将將]|[将將][会會]"
    r"|(?<![即或])[将將](?=[达達超突增升降]|[于於在]20|成为|成為|[实實][现現]|建成|投[产產入]|[开開启啟][始业業用动動]|完成|推出)"
    r"|(?<![供反效相对對适適响響因回])[应應](?:该|該|当|當|(?=[达達超]|不[超低少]))"
    r"|(?<![模虚虛比草])[拟擬](?![合人态態真定])|目[标標](?:[是为為]|定[为為]|[设設][为為]))(?P<what>[^，。；,;]+)"
)
_HAN_FIRM = re.compile(r"(?<![即或料])[将將][会會要]?")
"""What says of the future that it comes, and no more."""
_HAN_OPEN = re.compile(
    r"[预預][计計期测測料估]|有望|可能|或|也许|也許|[计計][划劃]|[规規][划劃]|目[标標]|未[来來]|料|即[将將]|[拟擬]|估[计計]|力[争爭]|[争爭]取"
    r"|(?<![社委协協大工董机機学學都峰年晚开開])[会會](?![议議员員计計社长長展场場])"
    r"|(?<![主重需纪紀摘只必])要(?![求素点點闻聞])"
    r"|(?<![供反效相对對适適响響因])[应應](?![用对對急收付链鏈])"
    r"|(?<![智功产產节節性效动動储儲光核热熱职職技才])能(?![源力量耗效])"
)
"""What leaves a claim of Chinese open itself, beside what says that it comes."""
_KANA = re.compile("[\u3041-\u309f]")
_KANA_EXPECTED = re.compile(
    r"(?P<what>[^、。]+?)(?P<said>見込|見通し|予定|予想|可能性|かもしれ|とみられ|と見られ|だろう|計画|方針|目指|目標|はずだ|べきだ)"
)
_KANA_OPEN = re.compile(
    r"見込|見通|予[定想測]|可能|かもしれ|みられ|見られ|だろう|でしょう|計画|方針|目指|目標|はず|べき|推定|よう[だでと]|らしい|れば|たら|場合"
)
_GERMAN_EXPECTED = re.compile(
    r"\b(?:soll(?:en|te|ten)?|dürfte[nt]?|könnte[nt]?|voraussichtlich|möglicherweise|vermutlich|wahrscheinlich|geplant)\b",
    re.IGNORECASE,
)
_GERMAN_OPEN = re.compile(
    r"\b(?:soll\w*|dürft\w*|könn\w*|kann|voraussichtlich\w*|möglich\w*|vermut\w*|wahrscheinlich\w*|wohl|plan\w*|geplant\w*"
    r"|erwart\w*|will|woll\w*|wird|werden|würde\w*|prognos\w*|rechne\w*|wenn|falls)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:!?]|\.(?!\d)")
_HAN_CLAUSE = re.compile("[，。；,;]")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?=年)")
_FEWEST = 2
"""Words that what is expected and the claim have in common."""


def only_expected(claim: str, held: str) -> str:
    """Return the words by which a passage only expects what a claim tells as a fact, or as certain to come."""
    if found := _english(claim, held) or _surer(claim, held) or _german(claim, held):
        return found
    if held.isascii():
        return ""
    return _japanese(claim, held) if _KANA.search(held) else _chinese(claim, held)


def _english(claim: str, held: str) -> str:
    found = [*_EXPECTED.finditer(held), *(() if _AIMS.search(claim) else _aimed(held))]
    if found and not _OPEN.search(claim):
        done = ((match["perfect"] or match["past"]).lower() for match in _DONE.finditer(claim))
        roots = {verb[:_VERB] for verb in done}
        for match in found:
            if match["verb"][:_VERB].lower() in roots:
                return str(match[0])
    return ""


def _aimed(text: str) -> Iterator[re.Match[str]]:
    """Yield what a text says that somebody sets out to do, and not that it was done."""
    aims = ((match, match.start()) for match in _AIMED.finditer(text))
    return (match for match, at in aims if not _MET.search(text, max(0, at - _BEFORE), at))


def _surer(claim: str, held: str) -> str:
    """Return what a passage holds possible and a claim says will come."""
    coming = {match["verb"][:_VERB].lower() for match in _COMING.finditer(claim)}
    if not coming or _OPEN.search(_FIRM.sub(" ", claim)):
        return ""
    firm = {match["verb"][:_VERB].lower() for match in _COMING.finditer(held)}
    possible = (match for match in _POSSIBLE.finditer(held) if match["verb"][:_VERB].lower() in coming - firm)
    return next((match[0] for match in possible), "")


def _german(claim: str, held: str) -> str:
    if not _GERMAN_EXPECTED.search(held) or _GERMAN_OPEN.search(claim):
        return ""
    for clause in _CLAUSE.split(held):
        if (match := _GERMAN_EXPECTED.search(clause)) and _mostly(clause.replace(match[0], " "), claim):
            return match[0]
    return ""


def _chinese(claim: str, held: str) -> str:
    if _HAN_OPEN.search(claim):
        return ""
    firm = bool(_HAN_FIRM.search(claim))
    years = set(_YEAR.findall(claim))
    for match in _HAN_EXPECTED.finditer(held):
        of = set(_YEAR.findall(_HAN_CLAUSE.split(held[: match.start()])[-1]))
        other = years and of and years.isdisjoint(of)
        if (match["possible"] or not firm) and not other and _mostly(match["what"], claim):
            return match["said"]
    return ""


def _japanese(claim: str, held: str) -> str:
    if _KANA_OPEN.search(claim):
        return ""
    found = (match for match in _KANA_EXPECTED.finditer(held) if _mostly(match["what"], claim))
    return next((match["said"] for match in found), "")


def _mostly(what: str, claim: str) -> bool:
    """Return whether a claim says most of what is expected."""
    words, said = content_set(what), content_set(claim)
    figures = {word for word in words if word.isdecimal()}  # another year or number is of something else
    return figures <= said and 2 * len(words & said) >= max(_FEWEST, len(words))
