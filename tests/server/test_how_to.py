"""The examples of the how-to guide, against a real server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.server.conftest import QUESTION, Served

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "serve.md"


def test_the_python_example_works(served: Served) -> None:
    [code] = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    code = code.replace("http://127.0.0.1:8327", served.url).replace("How many feet is a fathom?", QUESTION)
    exec(compile(code, str(GUIDE), "exec"), names)
    assert names["state"]["status"] in ("complete", "partial")
    assert names["report"].startswith("# ")
