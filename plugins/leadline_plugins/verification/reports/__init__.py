"""Read Markdown reports of any tool: which source each citation points at, by whichever convention."""

from __future__ import annotations

from leadline_plugins.verification.reports.marks import Entry, Mark
from leadline_plugins.verification.reports.reading import CitedReport, read

__all__ = ["CitedReport", "Entry", "Mark", "read"]
