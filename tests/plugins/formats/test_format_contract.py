"""Every built-in format under the contract of its kind."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from leadline.hookspecs import Offer
from leadline.testing.contracts import ReportFormatterContract


class Formats(ReportFormatterContract):
    @pytest.fixture
    def offer(self, name: str) -> Offer[Any, Any]:
        (found,) = import_module(f"leadline_plugins.formats.{name}").leadline_report_formatters()
        return found  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["bibtex", "csl", "epub", "html", "json", "latex", "markdown"])
class TestFormats(Formats):
    pass


@pytest.mark.parametrize("name", ["docx", "pdf"])
class TestDatedFormats(Formats):
    steady = False  # their libraries write the second of their making into the file
