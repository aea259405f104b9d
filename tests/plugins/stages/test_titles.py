"""The titles that are added to a report stand in its language."""

from __future__ import annotations

import pytest

from leadline.records import Section
from leadline_plugins.stages.write import body
from leadline_plugins.synthesizers.compose import Composed


@pytest.mark.parametrize(
    ("language", "title"),
    [("zh", "结论"), ("zh-Hant", "結論"), ("ja-JP", "結論"), ("und", "Conclusion"), ("vi", "Conclusion")],
)
def test_the_conclusion_is_titled_in_the_language_of_the_report(language: str, title: str) -> None:
    sections = (Section(id="1", title="A", text="x"), Section(id="2", title="B", text="y"))
    assert body(Composed("T", sections, conclusion="So."), "?", language)[-1].title == title
