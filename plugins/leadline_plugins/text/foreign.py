"""Whether a model answered in another language than it was asked to: by scripts, and by stop words among Latin ones.

Said only where it is evident: a false alarm costs a call, and then the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from leadline.findings import Question
from leadline_plugins.text.language import TRADITIONAL, language
from leadline_plugins.text.scripts import letters, misfits, primary, script_of
from leadline_plugins.text.stopwords import STOPWORDS

_ASIDE = re.compile(r"\[@[^\]]*\]|\[[\d, ]+\]|https?://\S+|`[^`]*`|“[^”]{0,400}”|「[^」]{0,200}」|《[^》]{0,80}》")
"""What is no prose of the writer's: citations, addresses, code, quotations, titles."""
_QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|«[^»]{1,400}»|„[^“”]{1,400}[“”]|『[^』]{1,200}』|\*[^*\n]{1,200}\*")
"""Of a single paragraph also what other marks quote, and what is set apart: a title."""
_NO_PROSE = re.compile(r"\s*(?:[#>|]|[-*+]\s|\d{1,9}[.)]\s|```|~~~|\$\$)")
_BLANK = re.compile(r"\n[ \t]*\n\s*")
_SHOWN = 60
_WORD = re.compile(r"[^\W\d_]+")
_FEWEST = {"Latn": 120}
_FEWEST_OTHER = 40
"""Letters, Latin and other, below which nothing is said."""
_REST = 0.1
"""The share of letters in the wanted script below which a text is in another: names stay as they are."""
_FOREIGN, _OWN = 0.22, 0.06
"""Shares of stop words: at least so many of the other language, at most so many of the wanted one."""
_PLAIN = 2
"""Stop words of its language in a question of which that is plain."""
_KANA = 0.02, 0.25
"""Of Japanese among kana and Han: Japanese has more than the first, Chinese less than the second."""
_FORMS = 10, 0.05
"""Characters not written so in Traditional from which a text is not in it; for each, those not so in Simplified."""
_NAMES = {"en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese"}
_NAMES |= {"nl": "Dutch", "sv": "Swedish", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "ru": "Russian"}
_NAMES |= {"da": "Danish", "no": "Norwegian", "fi": "Finnish", "pl": "Polish", "cs": "Czech", "hu": "Hungarian"}
_NAMES |= {"ro": "Romanian", "tr": "Turkish", "id": "Indonesian", "vi": "Vietnamese", "uk": "Ukrainian"}
_NAMES |= {
    "bg": "Bulgarian",
    "ar": "Arabic",
    "fa": "Persian",
    "ur": "Urdu",
    "he": "Hebrew",
    "hi": "Hindi",
    "th": "Thai",
}
_NAMES |= {"el": "Greek", "bn": "Bengali", "ta": "Tamil"}


def foreign(text: str, wanted: str) -> str:
    """Return the language (`fr`) that a text is evidently in instead of the wanted one; empty where it is or may be."""
    code, prose = primary(wanted), _ASIDE.sub(" ", text)
    found = language(prose)
    script, other = script_of(code), script_of(found)
    if found == "und" or not script:
        return ""
    if primary(found) == code:
        return found if wanted == TRADITIONAL and _simplified(prose) else ""
    counts = letters(prose)
    if counts[other] < _FEWEST.get(other, _FEWEST_OTHER):
        return ""
    if {code, primary(found)} == {"zh", "ja"}:
        kana = counts["Kana"] / (counts["Kana"] + counts["Hani"])
        return found if (kana < _KANA[0] if code == "ja" else kana > _KANA[1]) else ""
    if script != other:
        own = counts[script] + (counts["Hani"] if code in ("ja", "ko") else 0)
        return found if own < _REST * counts.total() else ""
    return found if code in STOPWORDS and found in STOPWORDS and _by_words(prose, found, code) else ""


def _simplified(prose: str) -> bool:
    counts = misfits(prose)
    return counts[TRADITIONAL] >= _FORMS[0] and counts["zh"] <= _FORMS[1] * counts[TRADITIONAL]


def _by_words(prose: str, found: str, wanted: str) -> bool:
    words = _WORD.findall(prose.lower())
    shares = {code: sum(word in STOPWORDS[code] for word in words) / len(words) for code in (found, wanted)}
    # Words that both have (`in`, `die`, `de`) tell nothing against the other.
    return shares[found] >= _FOREIGN and shares[wanted] <= _OWN + shares[found] / 3


def answered_in_language(texts: Callable[[Any], Iterable[str]]) -> Callable[[Any, Any], str]:
    """Return the check of a task: its reply's texts are in the language of its question."""

    def check(inputs: Any, reply: Any) -> str:
        return _wrong("\n".join(texts(reply)), inputs.question, "it")

    return check


def strays(texts: Iterable[str], question: Question) -> str:
    """Say which paragraph of some texts is in another language than the question, though they are not as a whole.

    Empty where none evidently is; what may hold titles or words of others, a list, a table, a quotation, is none.
    """
    parts = (part for text in texts for part in _BLANK.split(text) if not _NO_PROSE.match(part))
    found = ((part, _wrong(_QUOTED.sub(" ", part), question, "a part of it")) for part in parts)
    return next((f'{wrong} ("{" ".join(part.split())[:_SHOWN]}…")' for part, wrong in found if wrong), "")


def _wrong(text: str, question: Question, what: str) -> str:
    wanted = question.language
    found = foreign(text, wanted)
    if _near(found, wanted) and not _meant(question.text, wanted):
        found = ""
    said = "Simplified Chinese" if wanted == TRADITIONAL and found == "zh" else _named(found)
    return f"{what} is in {said} and must be in {_named(wanted)}" if found else ""


def _near(found: str, wanted: str) -> bool:
    """Return whether a wanted language may have been taken for another: in Latin script any, else one of its script."""
    return script_of(wanted) in ("Latn", script_of(found))


def _meant(question: str, wanted: str) -> bool:
    """Return whether the language is sure: set by somebody, or plain from the question; of a few names it is not."""
    code = primary(wanted)
    if primary(language(question)) != code or code not in STOPWORDS:
        return True
    words = _WORD.findall(question.lower())
    own = {word for word in words if word in STOPWORDS[code]}
    return len(own) >= (_PLAIN if script_of(code) == "Latn" else 1) and len(own) > max(
        len({word for word in words if word in stop} - own) for stop in STOPWORDS.values()
    )


def _named(code: str) -> str:
    return "Traditional Chinese" if code == TRADITIONAL else _NAMES.get(primary(code), code)
