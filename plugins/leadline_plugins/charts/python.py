"""Chart runner `python`: runs code that a model wrote in the configured sandbox, which returns a PNG."""

from __future__ import annotations

import json

from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.plugin import chart_runner
from leadline.records import Blob, Chart, Code, Execution, Figure
from leadline_plugins.charts.forms import CHAIN
from leadline_plugins.charts.points import alt_text
from leadline_plugins.parse.media import MOST_PIXELS, declared_pixels

_PICTURE = "chart.png"
_PNG = b"\x89PNG\r\n\x1a\n"
# Characters of an error message, from its end.
_ERROR_END = 1500
# Runs the code with `rows` and `plt` defined, and saves the picture if the code does not.
_PROGRAM = f"""\
import importlib.util, json, os, pathlib
import matplotlib
matplotlib.use("Agg")
from matplotlib import font_manager, pyplot as plt
cjk = importlib.util.find_spec("noto_cjk_sans_otc")
for folder in cjk.submodule_search_locations if cjk else ():
    for path in pathlib.Path(folder).glob("*.ttc"):
        font_manager.fontManager.addfont(path)
known = set(font_manager.fontManager.get_font_names())
plt.rcParams["font.family"] = [name for name in {CHAIN!r} if name in known]
plt.rcParams["axes.unicode_minus"] = False
code = pathlib.Path("chart.py").read_text(encoding="utf-8")
inputs = json.loads(pathlib.Path("rows.json").read_text(encoding="utf-8"))
exec(compile(code, "chart.py", "exec"), {{"__name__": "__main__", "plt": plt, **inputs}})
if not any(name.endswith(".png") for name in os.listdir()) and plt.get_fignums():
    plt.savefig("{_PICTURE}", dpi=200, bbox_inches="tight")
"""


# Seconds that the program of one chart may take.
TIMEOUT = 60


@chart_runner("Draws charts by code that a model wrote, in the sandbox", work="composite", uses=("code.sandbox",))
class Python:
    """Runs code in the sandbox and returns the picture that it saved."""

    def accepts(self, language: str, /) -> bool:
        return language == "python"

    async def draw(self, chart: Chart, call: Call, /) -> Figure:
        """Return the picture. Raises `Unsupported` with the error of the code."""
        inputs = {"rows": list(chart.rows), "title": chart.title, "unit": chart.unit, "source": chart.source}
        files = (
            Blob(name="chart.py", media_type="text/x-python", data=chart.code.encode()),
            Blob(name="rows.json", media_type="application/json", data=json.dumps(inputs).encode()),
        )
        code = Code(language="python", text=_PROGRAM, files=files, seconds=TIMEOUT)
        picture = _picture(await call.run.execute(code))
        if declared_pixels(picture) > MOST_PIXELS:
            raise Unsupported(f"the picture is broken, or has more than {MOST_PIXELS:,} pixels: save a smaller one")
        fields = {"caption": chart.title, "alt": alt_text(chart), "evidence_ids": chart.evidence_ids}
        return Figure(id=chart.id, media={"image/png": picture}, **fields)


def _picture(execution: Execution) -> bytes:
    if execution.exit_code:
        error = (execution.stderr or execution.stdout).strip()[-_ERROR_END:]
        raise Unsupported(f"the code ended with {execution.exit_code}: {error}")
    pictures = {file.name: file.data for file in execution.files if file.data.startswith(_PNG)}
    if not pictures:
        raise Unsupported(f"the code saved no picture: save it as {_PICTURE}")
    return pictures.get(_PICTURE) or next(iter(pictures.values()))
