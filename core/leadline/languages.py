"""Parse languages: a code in any case, or a name in English or in the language itself."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from leadline.display import nearest

AUTO = "auto"
# The codes of ISO 639 with two letters, and the most frequent ones with three.
_CODES = frozenset(
    re.findall(
        "[a-z]+",
        """aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv
        dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie
        ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv
        mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm
        rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts
        tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo yue za zh zu ast bho ceb ckb fil gsw haw hmn hsb kab
        kok mai mni nan nds sat scn sco szl tet wuu und""",
    )
)
_NAMES = {
    "af": "afrikaans", "ar": "arabic العربية", "be": "belarusian беларуская", "bg": "bulgarian български",
    "bn": "bengali bangla বাংলা", "ca": "catalan català", "cs": "czech čeština cesky", "da": "danish dansk",
    "de": "german deutsch", "el": "greek ελληνικά", "en": "english", "es": "spanish español espanol castellano",
    "et": "estonian eesti", "eu": "basque euskara", "fa": "persian farsi فارسی", "fi": "finnish suomi",
    "fil": "filipino", "fr": "french français francais", "ga": "irish gaeilge", "gl": "galician galego",
    "gu": "gujarati ગુજરાતી", "he": "hebrew עברית iw", "hi": "hindi हिन्दी हिंदी", "hr": "croatian hrvatski",
    "hu": "hungarian magyar", "hy": "armenian հայերեն", "id": "indonesian indonesia in", "is": "icelandic íslenska",
    "it": "italian italiano", "ja": "japanese 日本語", "ka": "georgian ქართული", "kk": "kazakh қазақша",
    "km": "khmer ខ្មែរ", "kn": "kannada ಕನ್ನಡ", "ko": "korean 한국어 조선말", "lo": "lao ລາວ",
    "lt": "lithuanian lietuvių",
    "lv": "latvian latviešu", "mk": "macedonian македонски", "ml": "malayalam മലയാളം", "mn": "mongolian монгол",
    "mr": "marathi मराठी", "ms": "malay melayu", "my": "burmese မြန်မာ", "ne": "nepali नेपाली",
    "nl": "dutch nederlands", "no": "norwegian norsk nb bokmål", "pa": "punjabi ਪੰਜਾਬੀ", "pl": "polish polski",
    "ps": "pashto پښتو", "pt": "portuguese português portugues", "ro": "romanian română romana",
    "ru": "russian русский", "si": "sinhala සිංහල", "sk": "slovak slovenčina", "sl": "slovenian slovenščina",
    "sq": "albanian shqip", "sr": "serbian српски srpski", "sv": "swedish svenska", "sw": "swahili kiswahili",
    "ta": "tamil தமிழ்", "te": "telugu తెలుగు", "th": "thai ไทย ภาษาไทย", "tr": "turkish türkçe turkce",
    "uk": "ukrainian українська", "ur": "urdu اردو", "uz": "uzbek oʻzbekcha", "vi": "vietnamese tiếng-việt",
    "zh": "chinese mandarin 中文 汉语 漢語 简体中文 简体 simplified-chinese chinese-simplified",
    "zh-Hant": "繁體中文 繁體 正體中文 traditional-chinese chinese-traditional",
}  # fmt: skip
_BY_NAME = {name.casefold(): code for code, names in _NAMES.items() for name in names.split()}
# Codes of countries that people write for a language.
_COUNTRIES = {"cn": "zh", "cz": "cs", "dk": "da", "gr": "el", "jp": "ja", "ua": "uk", "us": "en", "vn": "vi"}
_TAG = re.compile(r"([a-z]{2,3})(?:-([a-z]{4}))?(?:-([a-z]{2}|\d{3}))?")
_TRADITIONAL = {"tw", "hk", "mo"}


def tag(text: str) -> str:
    """Return a language as BCP 47 (`en`, `pt-BR`, `zh-Hant`), or `auto`. Raises ValueError."""
    normalized = re.sub(r"[\s_]+", "-", text.strip()).casefold()
    if normalized == AUTO:
        return normalized
    if code := _BY_NAME.get(normalized):
        return code
    match = _TAG.fullmatch(normalized)
    if match is None or match[1] not in _CODES:
        near = _COUNTRIES.get(normalized) or nearest(normalized, (*_BY_NAME, AUTO))
        meant = f"did you mean {near!r}? " if near else ""
        raise ValueError(f"{text!r} is no language: {meant}A code (en, pt-BR, zh-Hant), a name (Japanese), or auto")
    language, script, region = match.groups()
    if language == "zh" and (script == "hant" or (not script and region in _TRADITIONAL)):
        return "zh-Hant"
    return "-".join(part for part in (language, (script or "").title(), (region or "").upper()) if part)


# A language by its BCP 47 tag, in whatever form it was written.
Language = Annotated[str, AfterValidator(tag)]
