"""The script that compares two setups by a file of questions: offline, twice, and with what readers chose."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from pydoc_data.topics import topics
from types import ModuleType

import pytest

from leadline.errors import ConfigError

FOLDER = Path(__file__).parents[2] / "examples" / "evaluation"
QUESTIONS = [
    "When are default parameter values of a function evaluated?",
    "What is a <lambda> form?",
    "Was heißt Tiefe?",
]


@pytest.fixture
def script(own_folders: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the script, in a folder with settings, documents and questions."""
    Path("docs").mkdir()
    for name in ("function", "lambda"):
        Path("docs", f"{name}.rst").write_text(topics[name], encoding="utf-8")
    Path("questions.txt").write_text("\n\n".join([*QUESTIONS, QUESTIONS[0]]), encoding="utf-8")
    alone = '[search]\nengines = ["local"]\n[ai]\nproviders = ["embedded"]\n[plugins.local]\nfolders = ["docs"]\n'
    Path("leadline.toml").write_text(alone)
    Path("proposed.toml").write_text(f"{alone}[report]\nlength = 100\n")
    monkeypatch.syspath_prepend(str(FOLDER))
    return import_module("two_setups")


def test_two_setups_are_measured_once_and_read_blind(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    setups = (Path("questions.txt"), Path("out"), "research", "proposed.toml")
    assert script.main(*setups) == 2, "nothing answers the last question"
    shown, progress = capsys.readouterr()
    assert progress.count("research, complete: ") == 4  # the pipeline of the file is `research`, too
    table = dict(re.findall(r"^\| ([^|]+) \| (.+) \|$", shown, re.MULTILINE))
    assert table["answered"] == "2 of 3 | 2 of 3"
    assert table["USD a question"] == "0.0000 | 0.0000"
    page = Path("out", "reading.html").read_text("utf-8")
    assert (page.count("<article>"), page.count('type="radio"'), page.count("No report.")) == (6, 9, 2)
    assert "What is a &lt;lambda&gt; form?" in page
    assert not [name for name in ("<lambda>", "proposed", "without a language model") if name in page]

    # A reader who prefers the first setup each time chooses sides, which the script knows.
    choices = {question: "left" if script.first_is_left(question) else "right" for question in QUESTIONS[:2]}
    Path("out", "reading-ada.json").write_text(json.dumps({**choices, QUESTIONS[2]: "equal", "Another?": "left"}))
    assert script.main(*setups) == 2
    shown, progress = capsys.readouterr()
    assert "complete: " not in progress, "no run is made twice"
    assert "| preferred by readers | 2 | 0 |" in shown
    assert "1 times no difference" in shown
    assert "in 50% of tries" in shown
    assert (script.chance(9, 1), script.chance(5, 5)) == (pytest.approx(0.0215, abs=1e-3), 1.0)


def test_a_wrong_setup_is_refused_before_any_run(script: ModuleType) -> None:
    with pytest.raises(ConfigError, match="reserch"):
        script.main(Path("questions.txt"), Path("out"), "research", "reserch")
    assert list(Path("out").rglob("*.json")) == []
