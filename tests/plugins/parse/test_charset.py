import codecs

import pytest

from leadline_plugins.parse.decode import declared, decode

TEXTS = {
    "zh-Hans": "吕凯，字季平，永昌不韦县人，三国时蜀汉永昌郡五官掾功曹。雍闿反叛时，吕凯与府丞王伉闭境拒守。",
    "zh-Hant": "測深錘是水手用來測量水深的工具，繩上繫有標記，鉛錘底部塗有油脂，可以帶回海底的泥沙樣本。",
    "ja": "測鉛線は船の下の深さを測るために使われるロープで、先端に鉛のおもりが付いています。",
    "ko": "측심줄은 배 아래의 깊이를 재는 데 쓰이는 밧줄로 끝에 납추가 달려 있다.",
    "ru": "Лот это верёвка с грузом, которой моряки измеряли глубину под килем корабля.",
    "fr": "La ligne de sonde mesure la profondeur sous la quille et ramène un échantillon du fond.",
}
CHARSETS = [
    *(("zh-Hans", name) for name in ("gbk", "gb18030", "utf-8", "utf-16", "utf-16-le", "utf-16-be")),
    *(("zh-Hant", name) for name in ("big5", "utf-8")),
    *(("ja", name) for name in ("shift_jis", "euc-jp", "iso2022_jp", "utf-16-le")),
    *(("ko", name) for name in ("euc-kr", "utf-8")),
    *(("ru", name) for name in ("windows-1251", "koi8-r")),
    *(("fr", name) for name in ("iso-8859-1", "utf-16-be", "utf-8-sig")),
]


def page(language: str, paragraphs: int) -> str:
    return f"<html><head><title>x</title></head><body>{f'<p>{TEXTS[language]}</p>' * paragraphs}</body></html>"


@pytest.mark.parametrize("paragraphs", [1, 20])
@pytest.mark.parametrize(("language", "charset"), CHARSETS)
def test_an_unnamed_charset_is_found(language: str, charset: str, paragraphs: int) -> None:
    text = page(language, paragraphs)
    assert decode(text.encode(charset)) == text


@pytest.mark.parametrize(("language", "charset"), CHARSETS)
def test_a_charset_that_is_named_is_believed(language: str, charset: str) -> None:
    assert decode(TEXTS[language].encode(charset), charset) == TEXTS[language]


@pytest.mark.parametrize("codec", ["punycode", "unicode_escape", "idna", "utf-7", "base64", "rot13", "\0"])
def test_a_codec_that_is_no_charset_of_pages_is_not_used(codec: str) -> None:
    text = r"The lead \u0041 is heavy -" * 3_000
    assert decode(text.encode(), codec) == text


@pytest.mark.parametrize("wrong", ["iso-8859-1", "latin1", "us-ascii", "utf-16", "no-such-charset"])
def test_a_name_that_the_bytes_contradict_is_not_believed(wrong: str) -> None:
    assert decode(TEXTS["zh-Hans"].encode(), wrong) == TEXTS["zh-Hans"]


@pytest.mark.parametrize(
    ("language", "charset"), [("zh-Hans", "gbk"), ("ja", "shift_jis"), ("ko", "euc-kr"), ("fr", "utf-8")]
)
def test_a_stray_byte_spoils_nothing_else(language: str, charset: str) -> None:
    text = page(language, 20)
    data = text.encode(charset)
    read = decode(data.replace(b"</body>", b"\xff</body>"), charset)
    assert read.count("\ufffd") <= 2
    assert read[: text.index("</body>") - 4] == text[: text.index("</body>") - 4]


def test_charset_names_have_their_meaning_on_the_web() -> None:
    assert decode("朱镕基".encode("gb18030"), "gb2312") == "朱镕基"
    assert decode("①㈱".encode("cp932"), "x-sjis") == "①㈱"
    assert decode("똠방".encode("cp949"), "euc-kr") == "똠방"
    assert decode(b"\x93quoted\x94", "iso-8859-1") == "“quoted”"


@pytest.mark.parametrize(
    "data",
    [
        b"Tallow \x00",
        b"tallow \x00\x01\x02",
        b"\x00\x01\x02binary",
        bytes(range(256)) * 4,
        b"\x00\x01" * 500,
        b"\x7fELF" + bytes(60),
    ],
)
def test_binary_data_is_taken_for_no_text(data: bytes) -> None:
    assert "\0" in decode(data)


SHORT = {
    "cp1252": ["Café crème à la française, déjà vu", "El año pasado el muelle costó más", "“Quoted” – it’s £5 million"],
    "iso8859-15": ["Der Eintritt kostet 14 € für Kinder."],
    "mac-roman": ["¿Cuánto costó el puente? Nadie lo sabía mañana.", "Größe der Brücke: fünf Meter"],
    "cp1250": ["Zażółć gęślą jaźń", "Árvíztűrő tükörfúrógép"],
    "iso8859-2": ["Příliš žluťoučký kůň úpěl ďábelské ódy"],
    "koi8-r": ["Привет, мир!", "Протокол заседания совета порта от 5 мая 2021 года"],
    "cp1253": ["Καλημέρα κόσμε"],
    "cp1255": ["חמישה מיליון שקלים"],
    "euc-jp": ["港の料金は五百円です。"],
    "big5": ["橋的造價是五百萬元。"],
    "cp949": ["다리 비용은 오백만 원이다."],
    "utf-16-le": ["Москва, набережная реки", "橋的造價是五百萬元。", "The quay costs 5 million"],
    "utf-16-be": ["Москва, набережная реки", "你好，世界"],
}


@pytest.mark.parametrize(("charset", "text"), [(charset, text) for charset, texts in SHORT.items() for text in texts])
def test_a_short_text_keeps_its_letters(charset: str, text: str) -> None:
    assert decode(text.encode(charset)) == text


def test_few_signs_in_a_long_english_text_are_no_stray_bytes() -> None:
    text = (
        "The minutes of the council were read and approved. " * 60 + "José Müller said: £40 million – not €50 million."
    )
    assert decode(text.encode("cp1252")) == text
    assert decode(text.encode("cp1252"), "utf-8") == text


@pytest.mark.parametrize(
    ("start", "charset"),
    [("<?xml version='1.0' encoding='koi8-u'?><html>", "koi8-u"), ("<html><meta charset=windows-1257>", "cp1257")],
)
def test_a_file_names_its_own_charset(start: str, charset: str) -> None:
    assert codecs.lookup(declared(start.encode())).name == charset
