"""Lines of a terminal, measured in cells."""

from __future__ import annotations

import logging
import re

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from leadline.commands.output import keep_warnings_visible, wrapped

CHINESE = "分析中国高速铁路的发展现状、建设成本与环境影响（包括碳排放），并比较其与航空运输的差异。" * 3


def test_chinese_is_wrapped_by_cells_and_not_before_what_closes() -> None:
    lines = wrapped(CHINESE, 40)
    assert "".join(lines) == CHINESE
    assert all(cell_len(line) <= 42 for line in lines)
    assert all(cell_len(line) >= 32 for line in lines[:-1])
    assert not [line for line in lines if line[0] in "、，。）" or line[-1] == "（"]


def test_words_stay_whole_and_so_do_addresses() -> None:
    address = "https://example.org/" + "long/" * 20
    lines = wrapped(f"One two three four {address} five", 12)
    assert lines == ["One two", "three four", address, "five"]


def test_thai_without_spaces_is_cut() -> None:
    text = "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอน" * 5
    lines = wrapped(text, 30)
    assert "".join(lines) == text
    assert all(cell_len(line) <= 30 for line in lines)


def test_an_empty_text_is_one_line() -> None:
    assert wrapped("", 30) == [""]
    assert wrapped("  ", 30) == [""]


@given(st.text(alphabet="ab 中、。（「a한 ー.,)\n", max_size=300), st.integers(4, 60))
def test_nothing_is_lost_and_only_spaces_are_changed(text: str, cells: int) -> None:
    lines = wrapped(text, cells)
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)
    assert all(line == line.strip() for line in lines)


@given(st.text(alphabet="中文字，", max_size=300))
def test_no_line_of_chinese_is_wider_than_asked(text: str) -> None:
    text = re.sub("，+", "，", text)
    assert all(cell_len(line) <= 30 for line in wrapped(text, 30))


def test_warnings_cannot_control_the_terminal_or_forge_a_line() -> None:
    record = logging.makeLogRecord(
        {"name": "leadline", "msg": "not indexed: %s", "args": ("\x1b[31mred\nStatus  complete\x07.pdf",)}
    )
    keep_warnings_visible()
    assert logging.lastResort
    assert logging.lastResort.format(record) == "not indexed: [31mred Status complete.pdf"
