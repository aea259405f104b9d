"""The tool `code_execute`: runs Python in the configured sandbox, and nowhere else."""

from __future__ import annotations

from pydantic import Field

from leadline.contracts import Run
from leadline.records import Code, Json, Text
from leadline_plugins.tools.desk import Desk
from leadline_plugins.tools.tool import Arguments, ToolKind


class CodeExecute(Arguments):
    """What to run."""

    code: Text = Field(min_length=1, description="Python; what it prints is given back")


async def _execute(said: CodeExecute, desk: Desk) -> Json:
    ran = await desk.run.execute(Code(language="python", text=said.code))
    shown = {"stdout": ran.stdout[: desk.page], "stderr": ran.stderr[-desk.page :], "value": ran.value}
    return {"exit_code": ran.exit_code, **{name: value for name, value in shown.items() if value not in ("", None)}}


def _lacking(run: Run) -> str:
    return "" if run.settings.code.sandbox else "no sandbox is set up here, so no code is run: do without"


CODE_EXECUTE = ToolKind(
    "code_execute",
    "Run Python in a sandbox without network, to compute with figures that were read. What it gives is no source and "
    "cannot be cited.",
    CodeExecute,
    _execute,
    _lacking,
)
