"""Behind what a full stop may stand without ending a sentence, abbreviations and ordinals; and what begins one."""

from __future__ import annotations

import re

from leadline_plugins.text.stopwords import word_set

TITLES = word_set(
    """mr mrs ms dr prof st mt ft vs fig figs nos vol pp eq ch sec cf e.g i.e eg ie al ca bzw z.b d.h u.a nr bspw vgl
    mme gen gov rep sen col lt sgt capt rev hon pres op ed eds trans approx dept est assn bros viz
    डॉ प्रो ডা ดร นพ ผศ รศ"""
)
"""Abbreviations after which a sentence goes on."""
COUNTING = word_set(
    """no nr art abb anm anl bd kap rn rz ziff zf par cc núm num pág pag págs str č čl poz ust pkt kl
    stk sid ст п пп рис табл стр ч разд
    тыс млн млрд"""
)
"""Abbreviations after which a sentence goes on where a number follows."""
COUNTING_WORDS = word_set("abs tab cap")
"""The same that are English words too: with a capital, behind a bracket, or behind one of these."""
BEFORE_COUNTING = word_set("al cf dal del do el en il nel no ver vid véase vease")
ORDINALS = word_set(
    """januar jänner februar feber märz april mai juni juli august september oktober november dezember jahrhundert
    jahrhunderts jahrtausend jahrtausends jh jhd jhdt quartal quartals halbjahr hälfte weltkrieg weltkriegs yüzyıl
    yüzyılda yüzyılın dünya siècle století stoletja wieku század århundrede århundre"""
)
"""What a number with a full stop counts, as it may be written with a capital: `8. September`, `19. Jahrhundert`."""
ENGLISH_MONTHS = word_set("april august september november")
"""Those of the months that English writes so too: `She scored 20. August was better.`"""
BEFORE_DATES = word_set("seit bis und oder gegen nach vor")
"""Words of German behind which a number with a full stop may stand before a month."""
BEFORE_ORDINALS = word_set("am im dem den der des die das vom zum zur beim ab")
"""Words of German behind which a number with a full stop is an ordinal: `der 20. Bundestag`."""
ENDINGS = word_set("jr sr inc ltd co corp etc usw jan feb mar apr jun jul aug sep sept oct nov dec a.m p.m mio mrd")
"""Abbreviations that may end one: it does where the next word is a usual opener."""
OPENERS = word_set(
    """the a an it he she they we i this that these those in on at after before during when while although however but
    and as for his her its their there by from with if some many most both according since der die das er sie es im le
    la les il elle el los danach dann dies diese он она оно они это эти этот эта в на с по при для после однако но и а
    также затем когда если"""
)
_DOTTED = re.compile(r"(?:\w\.)+\w")
_YEAR = re.compile(r"[12]\d{3}\b")
_ORDINAL = re.compile(r"\d{1,2}|[ivx]{1,5}")


def abbreviated(text: str, dot: int, following: str, rest: list[str]) -> bool:
    """Return whether the dot belongs to an abbreviation, an initial or an ordinal, so that the sentence goes on."""
    head = text[max(0, dot - 20) : dot].split()
    word = _bare(head[-1]) if head else ""
    if word in TITLES or (following[0].isdigit() and (word in COUNTING or _counting(head, word))):
        return True
    opener = following.rstrip(",").casefold() in OPENERS
    if _ORDINAL.fullmatch(word) and _counts(head, word, following, rest) and not opener:
        return True
    initial = (len(word) == 1 and word.isalpha()) or bool(_DOTTED.fullmatch(word))
    return (initial or word in ENDINGS) and not opener


def _bare(word: str) -> str:
    """Return a word without what stands before it: `(vgl`, `l'art`."""
    word = word.lstrip("(\"'“‘[").casefold()
    return word if word.isalnum() else re.split("['’]", word)[-1]


def _counting(head: list[str], word: str) -> bool:
    """Return whether a word before a number is an abbreviation that is an English word too, and not that word."""
    if word not in COUNTING_WORDS:
        return False
    return head[-1][0].isupper() or head[-1][0] in "([" or (len(head) > 1 and _bare(head[-2]) in BEFORE_COUNTING)


def _counts(head: list[str], number: str, following: str, rest: list[str]) -> bool:
    """Return whether a number with a full stop is an ordinal: by what it counts, or by the word before it."""
    before = _bare(head[-2]) if len(head) > 1 else ""
    if number.isdigit() and before in BEFORE_ORDINALS:
        return True
    counted = following.rstrip(".,;:!?)»”\"'").casefold()
    if counted not in ENGLISH_MONTHS:
        return counted in ORDINALS
    return not before[-1:].isalnum() or before in BEFORE_DATES or bool(rest and _YEAR.match(rest[0]))
