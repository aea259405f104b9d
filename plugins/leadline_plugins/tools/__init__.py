"""The tools that a model may call while it explores: one a file, with its words, its arguments, and how it is done.

Their order is part of the prompt, and stays: a pipeline masks them by name, and takes none out.
"""

from __future__ import annotations

from typing import Any

from leadline_plugins.tools.code_execute import CODE_EXECUTE
from leadline_plugins.tools.respond import RESPOND
from leadline_plugins.tools.tool import ToolKind
from leadline_plugins.tools.web_fetch import WEB_FETCH
from leadline_plugins.tools.web_search import WEB_SEARCH

TOOLS: tuple[ToolKind[Any], ...] = (RESPOND, WEB_SEARCH, WEB_FETCH, CODE_EXECUTE)
