import pytest

from leadline.errors import Unsupported
from leadline.records import Blob
from leadline_plugins.parse.html import parse

BODY = "<p>" + "The lead line sounds the depth under the keel of a ship. " * 8 + "</p>"


def read(html: str, media_type: str = "text/html", charset: str = "utf-8") -> str:
    return parse(Blob(name="page.html", media_type=media_type, data=html.encode(charset))).text


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>SECRET</script>",
        "<style>SECRET</style>",
        "<noscript>SECRET</noscript>",
        "<template><p>SECRET</p></template>",
        "<!-- SECRET -->",
        "<p hidden>SECRET</p>",
        "<p aria-hidden='true'>SECRET</p>",
        "<p style='color:red; Display : None'>SECRET</p>",
        "<p style='visibility:hidden'>SECRET</p>",
    ],
)
@pytest.mark.parametrize("main", [BODY, "<p>Little.</p>"])
def test_hidden_text_is_never_read(hidden: str, main: str) -> None:
    text = read(f"<html><body><article>{main}{hidden}</article></body></html>")
    assert text
    assert "SECRET" not in text


def test_text_after_a_hidden_element_stays() -> None:
    assert "after" in read("<body><div>before<script>x</script> after</div></body>")


def test_title_and_language_come_with_the_text() -> None:
    html = f"<html lang='de-AT'><head><title>Das Lot</title></head><body><article>{BODY}</article></body></html>"
    document = parse(Blob(name="page.html", media_type="text/html", data=html.encode()))
    assert (document.title, document.language) == ("Das Lot", "de")
    assert document.text.startswith("The lead line")


def test_headings_are_those_of_markdown_but_not_paragraphs_that_are_set_as_such() -> None:
    heads = "<h2>Lead <em>lines</em></h2>", "<h4>Each of them is a sentence.</h4>"
    text = read(f"<html><body><article>{heads[0]}{BODY}{heads[1]}<p>And more.</p></article></body></html>")
    assert text.startswith("## Lead lines\n")
    assert "\nEach of them is a sentence.\n" in text


def test_a_page_without_main_text_gives_all_that_can_be_seen() -> None:
    assert read("<body><div>one <b>two</b></div><div>three<br>four</div></body>") == "one two\n\nthree four"


def test_the_charset_is_the_headers_then_the_pages() -> None:
    page = "<html><head><meta charset='gb2312'></head><body><p>测深锤</p></body></html>"
    assert read(page, charset="gb18030") == "测深锤"
    assert read("<p>測鉛線</p>", "text/html; charset=Shift_JIS", "shift_jis") == "測鉛線"


@pytest.mark.parametrize("html", ["", "<html></html>", "<script>x</script>", "\x00\x01", "<div>" * 5000])
def test_a_page_of_nothing_is_refused(html: str) -> None:
    with pytest.raises(Unsupported, match=r"page\.html: no text"):
        read(html)
