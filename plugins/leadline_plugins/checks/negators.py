"""Where a text negates, and what: by language, as each puts its words.

Only what is a negation whenever it stands there. What looks like one and is none is left out: `not only`, `still`
(لا يزال, "does not cease"), and two negations that make an obligation (なければならない).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from leadline_plugins.checks.denials import NO_DENIAL, gap, made
from leadline_plugins.text import content_set, content_words
from leadline_plugins.text.stopwords import word_set

_ENGLISH = word_set(
    """no not never none nobody nothing neither nor nowhere without cannot hardly scarcely unable incapable false untrue
    unlikely fail fails failed lack lacks lacked lacking deny denies denied refuse refuses refused
    nadie ningún ninguno ninguna jamás tampoco"""
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_LIMITS = re.compile(
    r"\s+(?:only|just|merely|solely|simply|exclusively|solo|sólo|sola?mente|únicamente|obstante|but\b(?!\s+(?:not|also))"
    r"|(?:more|less|fewer|later|earlier|sooner|greater|higher|lower|longer|shorter)\s+than|(?:\w+\s+){0,5}(?:until|till)|unlike|uncommon"
    r"|to\s+mention|least|necessarily|doubt|question|wonder|matter|exception|surprising(?:ly)?|short\s+of|before"
    r"|(?:one|body|\w+)?\s*(?:\w+\s+){0,2}(?:other\s+than|else\s+(?:but|than)|except|besides|apart\s+from))\b"
    r"|\s+(?:it|them|this|that|these|those)\s*[,.;:]|(?<=\bno)\.\s?\d",
    re.IGNORECASE,
)
"""What makes no negation of `not`, `nothing` or the Spanish `no`: not only, nothing but, no other than, no obstante.

`Without it,` denies a thing that is not named there, and `No. 5` counts.
"""
_UNDONE = re.compile(
    r"\b(?:not|never|cannot|nor|\w+n['’]t)\s+(?:\w+ly\s+|(?:be|been|to|quite|even)\s+){0,2}"
    r"(?:without|fail(?:s|ed)?|lack(?:s|ed|ing)?|den(?:y|ies|ied)|refuse[sd]?|unable|incapable|unlikely|untrue|false)\b"
    r"|\b(?:if|or|why)\s+not\b(?!\s+(?:all|every))",
    re.IGNORECASE,
)
"""Two negations that undo each other, did not fail; and `hundreds, if not thousands`."""
_EMPHASIS = word_set("even yet still ever actually really quite fully entirely much")
"""What is denied together with its verb, and says nothing of what is denied."""
_LONGER = frozenset(("longer",))
_SOFT = re.compile(
    r"\b(?:refusing|refusals?|failing|failings|failures?|denying|denials?|absen(?:t|ces?)|missing|shortages?|prevent\w*"
    r"|avoid\w*|disabl\w+|(?:im|un)possib\w+|inabilit\w+|rare(?:ly)?|seldom|barely|(?<!a )(?:few|little)|ban(?:s|ned)?"
    r"|forb[aio]d\w*|prohibit\w*|reject\w*|exclud\w+|exclusion|omit\w*|free\s+(?:of|from)|halt\w*|ceas\w+|unwilling"
    r"|short\s+of|far\s+from|anything\s+but|instead\s+of|rather\s+than|deficien\w+|zero|exempt\w*|resist\w*|abolish\w*"
    r"|unchanged|on\s+hold|flat|steady|shut|clos(?:ed|ing|ure)|scrapp\w+|cancel\w*|abandon\w*|suspend\w*|veto\w*|block\w*"
    r"|(?:vot|turn|strik|struck)\w*\s+down|phas\w+\s+out|oppos\w+|repeal\w*|revok\w+|withdr[ae]w\w*|remov\w+|unverändert"
    r"|ohne|fehl(?:t|en|te|ten|end\w*)|mangel\w*|verweiger\w*|scheiter\w*|gescheitert|verhinder\w*"
    r"|verb[io]t\w*|sans|manque\w*|sin|senza|sem|zonder|без|बिना)(?!\w)"
    r"|[缺拒免禁停失否难難罕除欠](?=[^\W\d_])|なし|なく|せず|بدون|دون|عدم",
    re.IGNORECASE,
)
"""What may say in other words what a negation says of the words near to it."""
_UNWORD = re.compile(
    r"\b(?:un|in|im|ir|il|dis|non-?)(?P<root>[a-z]{4,})\b|\b(?P<whole>[a-z]{4,})(?:less|-free|frei|los)\b",
    re.IGNORECASE,
)
"""The same in one word, of its own root: unchanged, risk-free."""
_BESIDE = 60
"""Characters to each side in which stand the words near to it."""
_PAUSE = re.compile("[,.;:!?，。；：！？、،؛।]")
_STOP = re.compile(r"[.;:!?](?!\d)|—")
"""Where a negation of English ends: a comma may stand behind `not`."""
_REACH = 4
"""Content words to a side of a negator to which it may apply."""


class Scope(NamedTuple):
    """The content words to which a negation may apply, and where in the text it stands.

    What is `mild` counts only where the other text says most of what it denies. Numbers are no words of it: they are
    compared as figures.
    """

    words: frozenset[str]
    at: int
    mild: bool = False


@dataclass(frozen=True)
class _Negator:
    """The words that negate in a language written with spaces, and where they stand."""

    pattern: re.Pattern[str]
    before: bool = False
    """Whether what they negate may stand before them, too: `das Gesetz nicht beschlossen`, `मंजूरी नहीं दी`."""


def _negator(words: str, but: str, *, before: bool = False) -> _Negator:
    """Return a negator; `but` is what must not follow: `nicht nur`."""
    return _Negator(re.compile(rf"(?<!\w)(?:{words})(?!\w)(?!\s+(?:{but})(?!\w))", re.IGNORECASE), before)


_LATIN = (
    _negator(
        "nichts?|kein(?:e[nmrs]?)?|nie(?:mals)?|niemand(?:e[nm])?|weder",
        "als|anderes als|zuvor|nur|zuletzt|weniger|mehr als|allein|selten|unerheblich",
        before=True,
    ),
    _negator("niets?|geen|nooit|niemand", "anders dan|alleen|slechts|enkel|minder|meer dan|zelden", before=True),
    _negator("não|nunca|ninguém|nenhuma?", "só|apenas|somente|obstante|menos|mais d[eo]"),
    _negator("non(?!-)|nessun[oa]?", "solo|soltanto|solamente|seulement|meno|più di|appena"),
    _Negator(
        re.compile(
            r"(?<!\w)(?:ne\s+|n['’])(?=(?:[\w'’-]+\s+){1,3}?(?:pas|jamais|aucune?|nullement|plus|rien|personne|guère)(?!\w)"
            r"(?!\s+(?:seulement|uniquement|que|moins)(?!\w)))",
            re.IGNORECASE,
        )
    ),
)
"""German, Dutch, Portuguese, Italian, French: of its two words, for `pas` alone is a step and `ne … que` is only."""
_RUSSIAN = _negator("не|нет|нельзя", "только|менее|меньше|более|больше|ранее|позднее|раз|лишь|без")
_ARABIC = (
    _negator(
        "[وف]?(?:لم|لن|ليست?|لا)",
        "يزال|تزال|يزالون|سيما|بد|شك|بأس|فقط|سوى|يقل|تقل|يعدو|[^،.؛]{0,60}?(?:إلا|سوى)",
    ),
    _negator("غير", "أن|ان|أنه|أنها|مسبوق|مسبوقة"),
)
_BY_SIGN: tuple[tuple[re.Pattern[str], tuple[_Negator, ...]], ...] = (
    (
        re.compile(
            r"(?<!\w)(?:nich|nie|kein|weder|geen|nooit|não|nunca|ningu|nenhu|non|nessun|n['’]|ne\s)", re.IGNORECASE
        ),
        _LATIN,
    ),
    (re.compile(r"[нН](?:е|ельзя)\b"), (_RUSSIAN,)),
    (re.compile("[\u0620-\u064a]"), _ARABIC),
    (re.compile("नहीं"), (_negator("(?<!ही )नहीं", "बल्कि", before=True),)),
)
"""Negators by a sign without which there is none of them: most sentences have none, and that is quickly seen."""
_HANGUL = re.compile("[\uac00-\ud7a3]")
_KOREAN = re.compile(
    r"(?P<verb>[가-힣]{1,8}?)(?:(?:하|되|시키)?지\s?[는도를가]?\s?(?:않(?!을 수 없|으면|는 한)|못(?!지)|아니(?!하면))"
    r"|(?<!수)(?:[이가은는도])?\s?없(?!이|애|앴|앤|앨|어[지졌진]|지 않))"
)
_HAN = re.compile(
    rf"(?!{NO_DENIAL})"
    r"(?:不|没有?|沒有?|無|无|未|(?<![除莫无無])非|(?<![特个個分区區性级級告差辨识識鉴离離類类])别)(?!仅|僅|只|止|但|断|斷|同|过|過|得不|少|久|时|時|论|論|常)"
    r"(?:(?:能够?|能夠|曾|被|经|經|获得?|獲得?|得到|取得|予以?|可以?|会|會|完全|再是?|有){0,2})"
)
"""With what stands between it and its verb: 尚未获得批准 denies the 批准."""
_KANA = re.compile(r"(?:[\u4e00-\u9fff]?[\u3040-\u309f]{0,3})(?:ない|なかった|ません|ずに)(?!と)")
_NO_MORE = re.compile(r"no\s+longer\b|不再", re.IGNORECASE)
"""What was so once: it speaks against a text that says that it is, and not against one that says nothing of it."""
_AFFIRMS = re.compile(
    r"(?:(?:な(?:けれ|きゃ)ば|なくては|ないと|ねば)(?:なら|いけ)(?:ない|なかった|ません)|ざるを得(?:ない|なかった|ません)"
    r"|ないわけには(?:いかない|いきません)|か[もし]*(?:知|し)れ(?:ない|ません)|に違い(?:ない|ありません)"
    r"|に(?:過|す)ぎ(?:ない|なかった|ません)|しかない|(?:ほか|他)なら(?:ない|なかった))"
)
"""What has the form of a negation in Japanese and denies nothing: must, may, surely, merely."""
_KANA_SIGN = re.compile("[\u3040-\u309f]")


def scopes(text: str) -> Iterator[Scope]:
    """Yield for each negation the content words to which it may apply."""
    yield from _english(text)
    yield from _spaced(text)
    if text.isascii():
        return
    if _KANA_SIGN.search(text):
        yield from _japanese(text)
    else:
        yield from (_han(text, match) for match in _HAN.finditer(text))
    for match in _KOREAN.finditer(text) if _HANGUL.search(text) else ():
        yield Scope(content_set(match["verb"]), match.start())


def softened(text: str) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yield each word that may say the same as a negation and denies nothing by itself, as tokens, and those near it.

    A text that has `refusal` agrees with one that has `refused`; what it denies is not as sure as to speak against it.
    """
    for match in _SOFT.finditer(text):
        before = _STOP.split(text[max(0, match.start() - _BESIDE) : match.start()])[-1]
        behind = _STOP.split(text[match.end() : match.end() + _BESIDE], maxsplit=1)[0]
        near = frozenset((*content_words(before)[-_REACH:], *content_words(behind)[:_REACH]))
        yield content_set(match[0]), near
    for match in _UNWORD.finditer(text):
        yield content_set(match[0]), content_set(match["root"] or match["whole"])


def is_soft(text: str) -> bool:
    """Return whether a text has a word that may say the same as a negation."""
    return bool(_SOFT.search(text))


def _english(text: str) -> Iterator[Scope]:
    found = [match for match in _WORD.finditer(text) if _is_english(match[0]) and not _LIMITS.match(text, match.end())]
    undone = [match.span() for match in _UNDONE.finditer(text)] if found else []
    for match in found:
        if not any(start <= match.start() < end for start, end in undone):
            behind = _denied(_STOP.split(text[match.end() : match.end() + 80], maxsplit=1)[0])[:_REACH]
            words = behind or _denied(_STOP.split(text[max(0, match.start() - 80) : match.start()])[-1])[-_REACH:]
            mild = bool(_NO_MORE.match(text, match.start()))
            yield _lacking(text, match) or Scope(frozenset(words) - _LONGER, match.start(), mild)


def _denied(text: str) -> list[str]:
    """Return the content words of a text that a negation may deny."""
    return [word for word in content_words(text) if not word[0].isdigit() and word not in _EMPHASIS]


def _lacking(text: str, negator: re.Match[str]) -> Scope | None:
    """Return the scope of a negation by which a text says that its sources lack something: `not given`."""
    lacking = gap(text, *negator.span())
    return Scope(content_set(lacking), negator.start(), mild=True) if lacking else None


def _is_english(word: str) -> bool:
    word = word.lower().replace("’", "'")
    return word in _ENGLISH or word.endswith("n't")


def _spaced(text: str) -> Iterator[Scope]:
    for sign, negators in _BY_SIGN[:1] if text.isascii() else _BY_SIGN:
        for negator in negators if sign.search(text) else ():
            for match in negator.pattern.finditer(text):
                before = _before(text, match.start()) if negator.before else frozenset()
                yield _lacking(text, match) or Scope(_behind(text, match.end()) | before, match.start())


def _behind(text: str, end: int) -> frozenset[str]:
    return frozenset(content_words(_PAUSE.split(text[end : end + 80], maxsplit=1)[0])[:_REACH])


def _before(text: str, start: int) -> frozenset[str]:
    """Return the word before a negator, of the same clause."""
    return frozenset(content_words(_PAUSE.split(text[max(0, start - 40) : start])[-1])[-1:])


def _han(text: str, negator: re.Match[str]) -> Scope:
    if word := made(text, negator.start()):
        return Scope(content_set(word), negator.start(), mild=True)
    words = content_set(_PAUSE.split(text[negator.end() : negator.end() + 5], maxsplit=1)[0])
    return Scope(words, negator.start(), mild=bool(_NO_MORE.match(text, negator.start())))


def _japanese(text: str) -> Iterator[Scope]:
    for match in _KANA.finditer(_AFFIRMS.sub(lambda found: "、" * len(found.group()), text)):
        begin = max(0, match.start() - 6)
        yield Scope(content_set(text[begin : match.start() + 1]), begin)
