import pytest

from leadline_plugins.parse.media import bare_type, charset, media_type


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("README", "text/plain"),
        ("notes.MD", "text/markdown"),
        ("a/b.rst", "text/x-rst"),
        ("paper.PDF", "application/pdf"),
        ("page.htm", "text/html"),
        ("letter.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("photo.png", "image/png"),
        ("notes.md.gz", "application/octet-stream"),
        ("thing.unheardof", "application/octet-stream"),
        ("中文\n.txt", "text/plain"),
    ],
)
def test_a_file_name_tells_the_media_type(name: str, expected: str) -> None:
    assert media_type(name) == expected


def test_a_media_type_is_taken_apart() -> None:
    assert bare_type("Text/HTML; charset=GBK") == "text/html"
    assert charset("Text/HTML; charset=GBK") == "gbk"
    assert charset("text/html") == ""
