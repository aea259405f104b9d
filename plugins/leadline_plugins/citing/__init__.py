"""Citations of Markdown reports, whoever wrote them: which source each statement points at.

A room of its own because other tools' reports cite in many ways, and what reads them must not know how Leadline cites.
"""

from __future__ import annotations

from leadline_plugins.citing.model import CitedReport, Claim, Entry, Mark
from leadline_plugins.citing.reading import read

__all__ = ["CitedReport", "Claim", "Entry", "Mark", "read"]
