"""The language of a text: by its script, then by its stop words and the letters that others do not have.

Where neither says enough it is `und`: a wrong name sends engines and writers the wrong way, no name does not.
"""

from __future__ import annotations

import re
from collections import Counter

from leadline_plugins.text import english
from leadline_plugins.text.scripts import LANGUAGE_OF, letters, misfits, primary, script_of
from leadline_plugins.text.stopwords import STOPWORDS

TRADITIONAL = "zh-Hant"
_WORD = re.compile("[\u0900-\u0963\u0970-\u097f]+|[^\\W\\d_]+")
_LETTERS = "".join(sign.lower() if sign.isalpha() else " " for sign in map(chr, range(128)))
"""The same of ASCII, for `translate` and `split`, in a fifth of the time."""
_SYMBOL = re.compile("(?<![^\\W\\d_])[\u0370-\u03ff](?![^\\W\\d_])")
"""A Greek letter by itself, which is no word: `β-catenin`."""
_SAMPLE = 4000
"""Characters that are looked at; a language shows in far fewer."""
_KANA_SHARE = 0.1
"""Japanese mixes kana with Han; a Chinese text that names a Japanese title does so in under a tenth."""
_LETTERS_A_SIGN = 4
"""A Latin letter says less than a Han character: a Chinese question may be half English names."""
_JOINING = re.compile("[的了是在与與和及或吗嗎呢么麼何为為哪谁誰へのはがをにでと]|(?<=[A-Za-z0-9])[가-힣]")
"""What joins the words of a Chinese, Japanese or Korean sentence, however many names in it are Latin."""
_EAST_OR_LATIN = ("Hani", "Kana", "Hang", "Latn")
_OWN = {
    "de": "ß",
    "es": "ñ",
    "pl": "ąćęłńśźż",
    "cs": "ěřů",
    "hu": "őű",
    "ro": "țș",
    "tr": "ğış",
    "da": "æø",
    "no": "æø",
    "vi": "đơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
    "ru": "ыэё",
    "uk": "іїєґ",
    "be": "ў",
    "sr": "јљњћђџ",
    "mk": "ѓќѕ",
    "kk": "әғқңұһ",
    "ar": "ةكيىأإ",
    "fa": "پچژگکی",
    "ur": "ٹڈڑےںہھ",
    "ps": "ښځڅډړۍې",
    "mr": "ळ",
}
"""Letters that no other of the languages here has, or that tell it from the first one of its script."""
_ALPHABETS = {
    "de": "äöü",
    "fr": "àâæçéèêëîïôœùûüÿ",
    "es": "áéíóúü",
    "it": "àèéìíîòóùú",
    "pt": "áâãàçéêíóôõúü",
    "nl": "áéèëïóöü",
    "sv": "åäöé",
    "da": "åé",
    "no": "åéô",
    "fi": "äöå",
    "pl": "ó",
    "cs": "áčďéíňóšťúýž",
    "hu": "áéíóöúü",
    "ro": "ăâîşţ",
    "tr": "çöüâîû\u0307",
    "vi": "àáâãèéêìíòóôõùúýăĩũ",
}
"""Letters beside those of English that a language has as well."""
_AGREE = 2
"""Words that must speak for a language other than that which is taken for granted."""
_LONG, _SHARE = 40, 0.1
"""Words from which a text is long; the share of stop words below which such a text is of no language known here."""


def language(text: str) -> str:
    """Return the language as BCP 47 (`en`, `zh`, `zh-Hant`, `ja`, …); `und` where it cannot be told."""
    sample = text[:_SAMPLE]
    if sample.isascii():  # by far the commonest, and the other scripts need not be looked for
        return _latin(sample) if _WORD.search(sample) else "und"
    found = letters(sample)
    if not found:
        return "und"
    if _eastern(sample, found):
        return _east(sample, found)
    found["Latn"] //= _LETTERS_A_SIGN
    script = max(found, key=lambda name: found[name])
    return _latin(sample) if script == "Latn" else _of_script(sample, script)


def _eastern(text: str, found: Counter[str]) -> bool:
    """Return whether a text is Chinese, Japanese or Korean, and not one that names something in them."""
    signs, latin = found["Hani"] + found["Kana"] + found["Hang"], found["Latn"]
    if signs <= max((count for script, count in found.items() if script not in _EAST_OR_LATIN), default=0):
        return False
    if signs >= latin:
        return True
    spoken = max(_scores(_words(text), "Latn").values())
    return len(_JOINING.findall(text)) > spoken or (signs >= latin // _LETTERS_A_SIGN and spoken < _AGREE)


def _east(text: str, found: Counter[str]) -> str:
    if found["Hang"] > found["Hani"] + found["Kana"]:
        return "ko"
    if found["Kana"] > _KANA_SHARE * (found["Kana"] + found["Hani"]):
        return "ja"
    against = misfits(text)
    if against["ja"] < min(against["zh"], against[TRADITIONAL]):
        return "ja"
    # A single sign that Japanese writes so too (`東京`) may be in a name.
    traditional = against["zh"] > against[TRADITIONAL] + (against["ja"] <= against[TRADITIONAL])
    return TRADITIONAL if traditional else "zh"


def _of_script(text: str, script: str) -> str:
    """Return the language of a script that several are written in: what most words speak for, by letters or whole."""
    first = LANGUAGE_OF[script]
    scores = _scores(_words(text), script)
    best = max(scores, key=lambda code: (scores[code], code == first), default=first)
    return best if scores.get(best) else first


def _latin(text: str) -> str:
    """Return the language that stop words and letters speak for; English where nothing speaks against it."""
    words = _words(text) if text.isascii() else _words(_SYMBOL.sub(" ", text))
    scores = _scores(words, "Latn")
    strange = {code: 0 if text.isascii() else _strange(words, code) for code in scores}
    most = max(scores.values())
    # What speaks for another language may be names: of them a text that is plainly English may be full.
    doubtful = strange["en"] and (most < _AGREE or scores["en"] == most)
    plainly = english.strange(_WORD.findall(_SYMBOL.sub(" ", text))) if doubtful else None
    if plainly is not None:
        strange["en"] = plainly
    # Of those that as many words speak for the one whose letters they are; then English, which stands first.
    best = max(scores, key=lambda code: (scores[code], -strange[code]))
    if most < _AGREE and plainly == 0:
        return "en"
    if not scores[best]:
        return "en" if not strange["en"] else "und"
    if strange[best] > scores[best]:
        return "und"
    if best == "en":
        return best
    enough = scores[best] >= (_SHARE * len(words) if len(words) >= _LONG else _AGREE)
    return best if enough else "und"


def _words(text: str) -> list[str]:
    if text.isascii():
        return text.translate(_LETTERS).split()
    return _WORD.findall(text.replace("İ", "i").lower())  # its lower case has a dot of its own, which parts words


def _strange(words: list[str], code: str) -> int:
    """Return how many words have a letter that a language does not."""
    known = frozenset("abcdefghijklmnopqrstuvwxyz" + _OWN.get(code, "") + _ALPHABETS.get(code, ""))
    return sum(not (word.isascii() or known.issuperset(word)) for word in words)


_CODES = {
    script: tuple(code for code in (*STOPWORDS, "sr", "mk", "be", "kk", "ps") if script_of(code) == script)
    for script in ("Latn", "Cyrl", "Arab", "Deva")
}
_SPEAKING: dict[str, list[str]] = {}
"""The languages by their stop words, and by their own letters."""
for _code in STOPWORDS:
    for _word in STOPWORDS[_code]:
        _SPEAKING.setdefault(_word, []).append(_code)
_OWNERS: dict[str, list[str]] = {}
for _code in _OWN:
    for _sign in _OWN[_code]:
        _OWNERS.setdefault(_sign, []).append(_code)


def _scores(words: list[str], script: str) -> dict[str, float]:
    """Return how many words speak for each language of a script: its stop words, and half as much its own letters."""
    scores = dict.fromkeys(_CODES.get(script, ()), 0.0)
    for word, count in Counter(words).items():
        for code in _SPEAKING.get(word, ()):
            if code in scores:
                scores[code] += count
        if not word.isascii():
            for code in {code for sign in word for code in _OWNERS.get(sign, ())} & scores.keys():
                scores[code] += count / 2
    return scores


def is_cjk(code: str) -> bool:
    """Return whether a language is written without spaces and measured in characters."""
    return primary(code) in ("zh", "ja", "ko")
