"""The words of figures, by language: scales, units, months, small numbers.

Only what is certain: a word that is another word as well (`dos`, `neuf`, `elf`) reads as a false number more often than
it helps. Forms are caseless and NFKC, as `fold` leaves them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping


def word_list(words: str) -> list[str]:
    """Return the words of a text in their order, in one form of Unicode."""
    return unicodedata.normalize("NFKC", words).split()


def _table(rows: Mapping[int, str]) -> dict[str, int]:
    """Return the value of each word; `_` stands for a space in one."""
    return {word.replace("_", " "): value for value, words in rows.items() for word in word_list(words)}


def either(words: Iterable[str]) -> str:
    """Return a pattern of any of the words, the longest first: a tree by their letters, for a list is slow to try."""
    heads: dict[str, list[str]] = {}
    for word in words:
        heads.setdefault(word[:1], []).append(word[1:])
    ends = heads.pop("", None) is not None
    inner = "|".join(re.escape(head) + either(rest) for head, rest in sorted(heads.items()))
    return (f"(?:{inner})" + "?" * ends) if inner else ""


SCALES = _table(
    {
        12: "dozen",
        100: "hundred ร้อย",
        1_000: """thousand k tausend tsd tsd. mille mila mil duizend тысяч тысяча тысячи тысячу тыс тыс.
            ألف الف آلاف ألفا ألفًا हज़ार हजार พัน""",
        10_000: "หมื่น",
        100_000: "lakh lakhs लाख แสน",
        1_000_000: """million millions mn millionen mio mio. millón millon millones milione milioni milhão milhões
            miljoen mln mln. млн млн. миллион миллиона миллионов مليون مليونا مليونًا ملايين ล้าน""",
        10_000_000: "crore crores करोड़ करोड",
        1_000_000_000: """billion billions bn milliarde milliarden mrd mrd. milliard milliards mds mil_millones miliardo
            miliardi mld mld. mil_milhões bilhão bilhões miljard млрд млрд. миллиард миллиарда миллиардов
            مليار مليارا مليارًا مليارات अरब พันล้าน""",
        10_000_000_000: "หมื่นล้าน",
        100_000_000_000: "แสนล้าน",
        1_000_000_000_000: """trillion trillions tn billionen billón billones bilione bilioni trilhão trilhões biljoen
            трлн трлн. триллион триллиона триллионов تريليون ล้านล้าน""",
    }
)
OTHER_SCALES: Mapping[str, int] = {"mil": 1_000_000}
"""What a scale is in another language: `10 mil` are thousands in Spanish and Portuguese, millions in English."""
CJK_SCALES: Mapping[str, int] = {
    **dict.fromkeys("十拾십", 10),
    **dict.fromkeys("百佰백", 100),
    **dict.fromkeys("千仟천", 1000),
    **dict.fromkeys("万萬만", 10**4),
    **dict.fromkeys("亿億억", 10**8),
    **dict.fromkeys("兆조", 10**12),
}
HAN_DIGITS: Mapping[str, int] = {
    **{char: value for value, char in enumerate("零一二三四五六七八九")},
    **{char: value for value, char in enumerate("零壹贰叁肆伍陆柒捌玖")},
    **{char: value for value, char in enumerate("零壱弐参肆伍陸柒捌玖")},
    "貳": 2,
    "參": 3,
    "〇": 0,
    "两": 2,
    "兩": 2,
}

UNITS: Mapping[str, tuple[str, ...]] = {
    "%": (
        *("%", "percent", "per cent", "pct", "パーセント", "٪", "prozent", "pour cent", "por ciento", "por cento"),
        *("per cento", "procent", "процент", "процента", "процентов", "퍼센트", "प्रतिशत", "بالمئة", "بالمائة"),
        *("في المئة", "في المائة", "เปอร์เซ็นต์"),
    ),
    "usd": (
        *("$", "us$", "usd", "dollars", "dollar", "美元", "ドル", "달러", "dólares", "dólar", "dollari", "dollaro"),
        *("доллар", "доллара", "долларов", "долл", "دولار"),
    ),
    "eur": ("€", "eur", "euros", "euro", "欧元", "歐元", "ユーロ", "유로", "евро", "يورو"),
    "gbp": ("£", "gbp", "pounds", "英镑", "ポンド"),
    "rub": ("₽", "rub", "рубль", "рубля", "рублей", "руб"),
    "won": ("₩", "krw", "won", "원", "韩元", "ウォン"),
    "yen": ("円", "日元", "日圆", "日圓", "yen", "jpy", "엔"),
    "yuan": ("元", "人民币", "rmb", "yuan", "cny"),
    "¥": ("¥",),
    "°c": ("°c", "℃", "celsius", "摄氏度"),
    "°f": ("°f", "fahrenheit"),
    "km": ("km", "kilometers", "kilometres", "kilometer", "kilometre", "公里", "千米", "キロメートル"),
    "mi": ("mi", "miles", "mile", "英里", "マイル"),
    "cm": ("cm", "centimeters", "centimetres", "厘米", "センチ"),
    "mm": ("mm", "millimeters", "millimetres", "毫米", "ミリ"),
    "ft": ("ft", "feet", "foot", "英尺", "フィート"),
    "m": ("m", "meters", "metres", "meter", "metre", "米", "メートル"),
    "kg": ("kg", "kilograms", "kilogrammes", "公斤", "千克", "キログラム"),
    "t": ("tons", "tonnes", "吨", "噸", "トン"),
    "years": ("years", "year", "yr", "yrs"),
    "months": ("months", "month", "个月", "ヶ月", "か月", "개월"),
    "week": ("weeks", "week", "周", "週間"),
    "day": ("days", "day", "天"),
    "hour": ("hours", "hour", "小时", "小時", "時間", "시간"),
    "minute": ("minutes", "minute", "min", "分钟", "分鐘"),
    "century": ("centuries", "century", "世纪", "世紀"),
    "decade": ("decades",),
    "times": ("times", "fold", "倍"),
}

ONES = word_list(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen"""
)
_TENS = word_list("twenty thirty forty fifty sixty seventy eighty ninety")
ORDINALS = word_list("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth")
WORDS: Mapping[str, int] = (
    {word: value for value, word in enumerate(ONES)}
    | {word: 20 + 10 * place for place, word in enumerate(_TENS)}
    | {word: value for value, word in enumerate(ORDINALS, start=1)}
    | {"twice": 2, "thrice": 3}
)
VAGUE_WORDS = frozenset(("zero", "one", "first", "second"))
"""Words of number that mostly are none: `one of the`, `at first`, `a second`."""
FOREIGN_WORDS = _table(
    {
        2: "zwei deux twee dois duas два две двух",
        3: "drei trois tres drie três три трех трёх",
        4: "vier quatre cuatro quattro quatro четыре четырех четырёх",
        5: "fünf cinq cinco cinque vijf пять пяти",
        6: "sechs seis zes шесть шести",
        7: "sieben siete sette zeven семь семи",
        8: "huit ocho acht oito восемь восьми",
        9: "neun nueve nove negen девять девяти",
        10: "zehn dix diez dieci dez tien десять десяти",
        11: "onze undici одиннадцать",
        12: "zwölf douze doce dodici doze twaalf двенадцать",
    }
)
"""Number words of other languages, from two (one is their article) to twelve (above, most are several words)."""
JOINED_BEHIND = frozenset(
    word_list(
        """y e et en and и двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто сто двести
        триста четыреста пятьсот шестьсот семьсот восемьсот девятьсот тысяча тысячи außer in trente vingt soixante"""
    )
)
"""What stands before a word of number that is but the end of one: `treinta y cinco`, `двадцать пять`; `außer acht`."""

_MONTHS: Mapping[int, str] = {
    1: """january jan januar jänner janvier enero gennaio janeiro januari январь января январе يناير كانون_الثاني
        जनवरी มกราคม""",
    2: """february feb februar feber février febrero febbraio fevereiro februari февраль февраля феврале فبراير شباط
        फ़रवरी फरवरी กุมภาพันธ์""",
    3: """march mar märz mars marzo março maart март марта марте مارس آذار मार्च มีนาคม""",
    4: "april apr avril abril aprile апрель апреля апреле أبريل ابريل نيسان अप्रैल เมษายน",
    5: """may mai mayo maggio maio mei май мая мае مايو أيار मई พฤษภาคม""",
    6: "june jun juni juin junio giugno junho июнь июня июне يونيو حزيران जून มิถุนายน",
    7: "july jul juli juillet julio luglio julho июль июля июле يوليو تموز जुलाई กรกฎาคม",
    8: """august aug août agosto augustus август августа августе أغسطس آب अगस्त สิงหาคม""",
    9: """september sept sep septembre septiembre setiembre settembre setembro сентябрь сентября сентябре سبتمبر
        أيلول सितंबर सितम्बर กันยายน""",
    10: """october oct oktober okt octobre octubre ottobre outubro октябрь октября октябре أكتوبر تشرين_الأول
        अक्टूबर ตุลาคม""",
    11: """november nov novembre noviembre novembro ноябрь ноября ноябре نوفمبر تشرين_الثاني नवंबर नवम्बर พฤศจิกายน""",
    12: """december dec dezember dez décembre diciembre dicembre dezembro декабрь декабря декабре ديسمبر كانون_الأول
        दिसंबर दिसम्बर ธันวาคม""",
}
MONTHS = _table(_MONTHS)
ALONE = frozenset(
    word_list(
        """january february april june july august september october november december januar februar oktober dezember
        janvier février juin juillet août septembre octobre novembre décembre enero febrero
        septiembre octubre noviembre diciembre gennaio febbraio aprile giugno luglio settembre ottobre dicembre janeiro
        fevereiro junho julho setembro outubro novembro dezembro januari februari января феврале апреле июне июле
        сентября сентябре октября октябре ноября ноябре декабря декабре"""
    )
)
"""Names of months that are nothing else, so that they say a month even without a day or a year: no first name, as
Avril and Julio are."""

ERAS: Mapping[str, int] = {
    "令和": 2018,
    "平成": 1988,
    "昭和": 1925,
    "大正": 1911,
    "明治": 1867,
    "民國": 1911,
    "民国": 1911,
}
"""The year before the first of each era."""
BUDDHIST = 543
"""Years by which the Buddhist era of Thailand is ahead."""
