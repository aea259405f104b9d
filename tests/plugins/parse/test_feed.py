import pytest

from leadline.errors import Unsupported
from leadline.records import Blob, Document
from leadline_plugins.parse.feed import parse

RSS = """<?xml version="1.0" encoding="{charset}"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel><title>Soundings {word}</title><link>https://example.org/</link>
<item><title>First &amp; best</title><link>https://example.org/1</link><pubDate>Sat, 01 Nov 2025 10:00:00 GMT</pubDate>
<description>short</description>
<content:encoded><![CDATA[<p>The rope<script>evil()</script> is wet.</p>
<p style="display:none">SECRET</p><p>Two</p>]]></content:encoded>
</item>
<item><title>Second</title><dc:date>2025-11-03T00:00:00Z</dc:date>
<description>plain &lt;b&gt;bold&lt;/b&gt;</description></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>
<entry><title type="html">A &lt;i&gt;deep&lt;/i&gt; one</title><link rel="self" href="https://example.org/self"/>
<link href="https://example.org/a"/><updated>2025-10-01T00:00:00Z</updated><published>2025-09-30T00:00:00Z</published>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>One</p><p>Two</p></div></content></entry></feed>"""


def read(text: str, charset: str = "utf-8", media_type: str = "application/rss+xml") -> Document:
    return parse(Blob(name="feed", media_type=media_type, data=text.encode(charset)))


def test_rss_is_read_entry_by_entry() -> None:
    made = read(RSS.format(charset="utf-8", word=""))
    assert made.text == (
        "## First & best\n\n2025-11-01 · https://example.org/1\n\nThe rope is wet.\n\nTwo\n\n"
        "## Second\n\n2025-11-03\n\nplain bold"
    )
    assert (made.title, made.published) == ("Soundings", "2025-11-03")
    assert [block.path for block in made.blocks if made.text[block.start : block.end] == "Two"] == [("First & best",)]


def test_atom_is_read_with_its_own_address_and_first_date() -> None:
    made = read(ATOM)
    assert made.text == "## A deep one\n\n2025-09-30 · https://example.org/a\n\nOne\n\nTwo"
    assert made.title == "News"


@pytest.mark.parametrize(("charset", "word"), [("gbk", "测深"), ("shift_jis", "測鉛"), ("euc-kr", "측심")])
def test_the_charset_of_the_declaration_is_believed(charset: str, word: str) -> None:
    assert read(RSS.format(charset=charset, word=word), charset).title == f"Soundings {word}"


def test_entities_are_not_grown_and_files_not_read() -> None:
    bomb = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    hostile = (
        f'<!DOCTYPE rss [<!ENTITY e0 "ha"> {bomb} <!ENTITY f SYSTEM "file:///etc/passwd">]>'
        "<rss><channel><title>T</title><item><title>x&e9;&f;y</title></item></channel></rss>"
    )
    text = read(hostile).text
    assert len(text) < 100
    assert "root" not in text


@pytest.mark.parametrize("text", ["<html><p>no feed</p></html>", "", "no xml"])
def test_a_file_that_is_no_feed_is_refused(text: str) -> None:
    with pytest.raises(Unsupported, match="feed: not a feed"):
        read(text)


def test_an_empty_feed_is_refused() -> None:
    with pytest.raises(Unsupported, match="no text"):
        read("<rss><channel><title>T</title></channel></rss>")
