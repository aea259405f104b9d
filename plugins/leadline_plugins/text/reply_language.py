"""Checks that a model answers in the language of the question: by scripts, and by stop words in Latin script.

They report only evident mistakes: a false alarm costs a call and discards a good text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from leadline.research_findings import Question
from leadline_plugins.text.language import TRADITIONAL, language
from leadline_plugins.text.scripts import letters, misfits, primary, script_of
from leadline_plugins.text.word_lists import language_name, stopwords

# Not the writer's prose: citations, addresses, code, quotations, titles.
_ASIDE = re.compile(r"\[@[^\]]*\]|\[[\d, ]+\]|https?://\S+|`[^`]*`|“[^”]{0,400}”|「[^」]{0,200}」|《[^》]{0,80}》")
# In single paragraphs also other quotation marks, and emphasis: a title.
_QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|«[^»]{1,400}»|„[^“”]{1,400}[“”]|『[^』]{1,200}』|\*[^*\n]{1,200}\*")
_NO_PROSE = re.compile(r"\s*(?:[#>|]|[-*+]\s|\d{1,9}[.)]\s|```|~~~|\$\$)")
_BLANK = re.compile(r"\n[ \t]*\n\s*")
_EXCERPT = 60
_WORD = re.compile(r"[^\W\d_]+")
# Letters below which a text is too short to judge.
_FEWEST, _FEWEST_OTHER = {"Latn": 120}, 40
# Share of letters in the wanted script below which a text is in another language; names keep their script.
_REST = 0.1
# Share of stop words that the other language has at least, and the wanted one at most.
_FOREIGN, _OWN = 0.22, 0.06
# Stop words of its language that make the language of a question certain.
_PLAIN = 2
# Share of kana among kana and Han: Japanese has more than the first, Chinese less than the second.
_KANA = 0.02, 0.25
# Characters foreign to Traditional Chinese from which a text is not in it; for each, those foreign to Simplified.
_FORMS = 10, 0.05


def wrong_language(text: str, wanted: str) -> str:
    """Return the language (`fr`) of a text that is evidently not in the wanted one; empty if it is or may be."""
    code, prose = primary(wanted), _ASIDE.sub(" ", text)
    actual = language(prose)
    script, other = script_of(code), script_of(actual)
    if actual == "und" or not script:
        return ""
    if primary(actual) == code:
        return actual if wanted == TRADITIONAL and _is_simplified(prose) else ""
    counts = letters(prose)
    if counts[other] < _FEWEST.get(other, _FEWEST_OTHER):
        return ""
    if {code, primary(actual)} == {"zh", "ja"}:
        kana = counts["Kana"] / (counts["Kana"] + counts["Hani"])
        return actual if (kana < _KANA[0] if code == "ja" else kana > _KANA[1]) else ""
    if script != other:
        own = counts[script] + (counts["Hani"] if code in ("ja", "ko") else 0)
        return actual if own < _REST * counts.total() else ""
    known = code in stopwords() and actual in stopwords()
    return actual if known and _differs_by_words(prose, actual, code) else ""


def _is_simplified(prose: str) -> bool:
    counts = misfits(prose)
    return counts[TRADITIONAL] >= _FORMS[0] and counts["zh"] <= _FORMS[1] * counts[TRADITIONAL]


def _differs_by_words(prose: str, actual: str, wanted: str) -> bool:
    words = _WORD.findall(prose.lower())
    shares = {code: sum(word in stopwords()[code] for word in words) / len(words) for code in (actual, wanted)}
    # Words of both languages (`in`, `die`, `de`) are no evidence for the wanted one.
    return shares[actual] >= _FOREIGN and shares[wanted] <= _OWN + shares[actual] / 3


def answered_in_language(texts: Callable[[Any], Iterable[str]]) -> Callable[[Any, Any], str]:
    """Return a check of a task: the texts of its reply are in the language of its question."""

    def check(inputs: Any, reply: Any) -> str:
        return _complaint("\n".join(texts(reply)), inputs.question, "it")

    return check


def foreign_paragraph(texts: Iterable[str], question: Question) -> str:
    """Return a complaint about the first paragraph that is evidently in another language; empty without one.

    Lists, tables and quotations are skipped: they may hold titles and words of other languages.
    """
    parts = (part for text in texts for part in _BLANK.split(text) if not _NO_PROSE.match(part))
    complaints = ((part, _complaint(_QUOTED.sub(" ", part), question, "a part of it")) for part in parts)
    return next((f'{wrong} ("{" ".join(part.split())[:_EXCERPT]}…")' for part, wrong in complaints if wrong), "")


def _complaint(text: str, question: Question, subject: str) -> str:
    wanted = question.language
    actual = wrong_language(text, wanted)
    if _may_be_mistaken(actual, wanted) and not _is_certain(question.text, wanted):
        actual = ""
    name = "Simplified Chinese" if wanted == TRADITIONAL and actual == "zh" else language_name(actual)
    return f"{subject} is in {name} and must be in {language_name(wanted)}" if actual else ""


def _may_be_mistaken(actual: str, wanted: str) -> bool:
    """Return whether the wanted language may be a wrong guess: any in Latin script, else one of the found script."""
    return script_of(wanted) in ("Latn", script_of(actual))


def _is_certain(question: str, wanted: str) -> bool:
    """Return whether the language was set by a user or is plain from the question, which a few names do not show."""
    code = primary(wanted)
    if primary(language(question)) != code or code not in stopwords():
        return True
    words = _WORD.findall(question.lower())
    own = {word for word in words if word in stopwords()[code]}
    return len(own) >= (_PLAIN if script_of(code) == "Latn" else 1) and len(own) > max(
        len({word for word in words if word in stop} - own) for stop in stopwords().values()
    )
