"""Every built-in format under the contract of its kind."""

from __future__ import annotations

from typing import Any

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.hookspecs import Offer
from leadline.testing.contracts import ReportFormatterContract


class Formats(ReportFormatterContract):
    @pytest.fixture
    def offer(self, name: str) -> Offer[Any]:
        return PluginCatalog.discover().offer("report_formatters", name)


@pytest.mark.parametrize("name", ["bibtex", "csl", "epub", "html", "json", "latex", "markdown"])
class TestFormats(Formats):
    pass


@pytest.mark.parametrize("name", ["docx", "pdf"])
class TestDatedFormats(Formats):
    steady = False  # their libraries write the second of their making into the file
