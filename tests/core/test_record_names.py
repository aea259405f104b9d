"""Records refuse typos of authors, and read what newer versions wrote."""

from __future__ import annotations

from typing import Any

import pytest

from leadline.records import Hit, SearchPage


def test_a_field_that_a_record_lacks_is_refused_where_it_is_made_or_copied() -> None:
    fault = r"Hit has no field 'snipet': did you mean 'snippet'\?"
    wrong: dict[str, Any] = {"snipet": "nine fathoms"}
    with pytest.raises(TypeError, match=fault):
        Hit(url="https://example.org/", **wrong)
    with pytest.raises(TypeError, match=fault):
        Hit(url="https://example.org/").model_copy(update=wrong)


def test_stored_records_of_a_newer_version_are_read_without_what_is_unknown() -> None:
    stored = '{"hits": [{"url": "https://example.org/", "colour": "blue"}], "mood": 1}'
    assert SearchPage.model_validate_json(stored) == SearchPage(hits=(Hit(url="https://example.org/"),))
