from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from leadline.errors import Unsupported
from leadline.records import Blob
from leadline_plugins.parse.pdf import parse

Make = Callable[..., bytes]


def blob(data: bytes) -> Blob:
    return Blob(name="chart.pdf", media_type="application/pdf", data=data)


def test_pages_begin_where_their_offsets_say(pdf: Make) -> None:
    document = parse(blob(pdf([["First page."], [], ["Third page."]], title="Soundings")))
    assert document.title == "Soundings"
    assert len(document.pages) == 3
    assert document.text[document.pages[0] :].startswith("First page.")
    assert document.text[document.pages[2] :] == "Third page."


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_a_broken_file_is_named(pdf: Make, share: float) -> None:
    data = pdf([["Some text."]])
    with pytest.raises(Unsupported, match=r"chart\.pdf: (not a readable PDF|no text)"):
        parse(blob(data[: int(len(data) * share)]))


def test_a_scan_is_refused_with_a_hint_at_ocr(pdf: Make) -> None:
    with pytest.raises(Unsupported, match="OCR"):
        parse(blob(pdf([[], []])))


def test_threads_read_side_by_side_and_agree(pdf: Make) -> None:
    data = blob(pdf([[f"Page {number}."] for number in range(20)]))
    with ThreadPoolExecutor(8) as threads:
        documents = list(threads.map(parse, [data] * 40))
    assert all(document == documents[0] for document in documents)
