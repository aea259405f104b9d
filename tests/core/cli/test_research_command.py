"""`leadline research`, `resume` and `explain` as people and programs use them, over real documents."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
QUESTION = "How deep was the harbour of Port Ellery sounded in 1871?"
ANSWER = "nine fathoms at the mole"


@pytest.fixture
def run(cli: Cli, docs: Path) -> dict[str, Any]:
    """Return what a finished run printed as JSON."""
    data: dict[str, Any] = json.loads(cli("research", QUESTION, "--docs", "docs", "--json", "-q").out)
    return data


def test_the_outcome_for_people(cli: Cli, docs: Path) -> None:
    done = cli("research", QUESTION, "--docs", "docs")
    assert done.code == 0
    labels = [line.split()[0] for line in done.err.splitlines() if line[:1].isupper() and line[9:10] == " "]
    assert ANSWER in done.out
    assert "\n[1] The harbour of Port Ellery - " in done.out
    assert labels[-7:] == ["Question", "Status", "Done", "Missing", "Checks", "Files", "Cost"]
    assert "Checks    passages found, not judged" in done.err
    assert "report.md" in done.err
    assert "Cost      nothing: no model was called" in done.err
    assert "clarify, plan, query" in done.err


def test_choices_and_progress_stand_on_standard_error(cli: Cli, docs: Path) -> None:
    err = cli("research", QUESTION, "--docs", "docs").err
    assert "ai.providers: embedded (no language model is set up; the report will be a brief of quoted passages)" in err
    assert "s  query (round 1): " in err
    assert "\ncomplete, " in err


def test_quiet_shows_no_progress(cli: Cli, docs: Path) -> None:
    assert cli("research", QUESTION, "--docs", "docs", "--quiet").err.startswith("Question  ")


def test_json_is_one_object_with_everything_a_program_needs(run: dict[str, Any]) -> None:
    assert (run["status"], run["exit_code"], run["question"]) == ("complete", 0, QUESTION)
    assert ANSWER in Path(run["report"]).read_text()
    assert Path(run["folder"]).name == run["run"]
    assert run["report"] in run["files"]
    assert run["checks"]["passed"] is None
    assert run["missing_words"] == ["deep"]
    assert run["usage"]["tokens"] == 0
    assert run["citations"]["cited"] >= 1
    assert run["errors"] == []
    assert run["seconds"] > 0


def test_words_without_quotes_are_one_question(cli: Cli, docs: Path) -> None:
    done = cli("research", *QUESTION.split(), "--docs", "docs", "--json", "-q")
    assert json.loads(done.out)["question"] == QUESTION


def test_a_dash_reads_the_question_from_standard_input(cli: Cli, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{QUESTION}\n"))
    assert json.loads(cli("research", "-", "--docs", "docs", "--json", "-q").out)["question"] == QUESTION


def test_tags_settings_and_folder_reach_the_run(cli: Cli, docs: Path) -> None:
    options = ("--folder", "elsewhere", "--tag", "ticket=42", "--format", "markdown", "--set", "report.references=no")
    run = json.loads(cli("research", QUESTION, "--docs", "docs", "--json", "-q", *options).out)
    folder = Path("elsewhere").absolute() / run["run"]
    assert run["folder"] == str(folder)
    assert json.loads((folder / "metadata.json").read_text())["tags"] == {"ticket": "42"}
    assert not (folder / "report.json").exists()
    assert "Cited Sources" not in (folder / "report.md").read_text()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--docs", "nowhere"), "--docs: no such folder: "),
        (("--docs", "none"), "none has no files to search"),
        (("--docs", "docs", "--pipeline", "resarch"), "did you mean 'research'?"),
        (("--docs", "docs", "--format", "markdwn"), "did you mean 'markdown'?"),
        (("--docs", "docs", "--set", "serch.timeout=1"), "did you mean 'search'?"),
        (("--docs", "docs", "--settings", "none.toml"), "none.toml: there is no such settings file"),
        (("--set", "search.engines=local"), "no folder is set: plugins.local.folders, or --docs DIR"),
    ],
)
def test_settings_that_cannot_work_exit_78_and_leave_no_run(
    cli: Cli, docs: Path, options: tuple[str, ...], told: str
) -> None:
    Path("none").mkdir()
    done = cli("research", QUESTION, *options)
    assert done.code == 78
    assert told in done.err
    assert not Path("runs").exists()


def test_no_evidence_is_exit_5_and_no_report(cli: Cli, docs: Path) -> None:
    done = cli("research", "Which quasar redshift did the Zyxtron telescope measure?", "--docs", "docs", "-q")
    assert done.code == 5
    assert "Status    no evidence" in done.err
    assert "report.md" not in done.err
    assert done.out == ""


def test_an_unclear_question_that_nobody_can_be_asked_about_is_exit_2(cli: Cli, docs: Path) -> None:
    done = cli("research", "what is it", "--docs", "docs", "--set", "clarify.mode=ask", "-q")
    assert done.code == 2
    assert "The question is unclear: it is very short" in " ".join(done.err.split())
    assert "add --set clarify.mode=assume" in " ".join(done.err.split())
    [run] = Path("runs").glob("*/metadata.json")
    command = f"leadline resume {run.parent.name}"
    assert f"It waits for an answer: {command} --answer TEXT" in " ".join(done.err.split())
    assert cli("resume", run.parent.name, "--answer", "Deep?", "--offline").code == 64
    done = cli("resume", run.parent.name, "--answer", "How deep is the harbour of Port Ellery?", "-q")
    assert (done.code, cli("resume", run.parent.name, "--no-answer").code) == (0, 64)


def test_a_plan_waits_for_its_approval_and_is_answered_from_a_file(cli: Cli, docs: Path) -> None:
    done = cli("research", QUESTION, "--docs", "docs", "--set", "plan.approve=ask", "-q")
    assert done.code == 2
    [file] = Path("runs").glob("*/plan.txt")
    command, shown = f"leadline resume {file.parent.name}", " ".join(done.err.split())
    assert f"It waits for an answer: {command} --answer TEXT" in shown
    assert "edit plan.txt in its folder" in shown
    missing = cli("resume", file.parent.name, "--answer", "@nosuch.txt", "-q")
    assert (missing.code, "--answer: nosuch.txt cannot be read" in missing.err) == (64, True)
    file.write_text(file.read_text().replace("Section: ", "Section: All of "))
    assert cli("resume", file.parent.name, "--answer", f"@{file}", "-q").code == 0
    assert "All of" in (file.parent / "plan.md").read_text()


def test_resume_needs_no_options_and_repeats_no_call(cli: Cli, run: dict[str, Any]) -> None:
    report = Path(run["report"]).read_bytes()
    done = cli("resume", run["run"][:8])
    assert done.code == 0
    assert "Status    complete" in done.err
    assert Path(run["report"]).read_bytes() == report
    started = [json.loads(line) for line in (Path(run["folder"]) / "events.jsonl").read_text().splitlines()]
    second = [event["seq"] for event in started if event["kind"] == "run.started"][1]
    asked = [event for event in started if event["seq"] > second and event["kind"] == "call.started"]
    # Formats and exact judging are computed anew: neither asks anybody.
    assert {(event["data"]["kind"], event["data"]["provider"]) for event in asked} <= {
        ("judge", "exact"),
        *(("format", name) for name in ("markdown", "html", "json")),
    }


def test_an_offline_replay_prints_the_report_and_writes_nothing(cli: Cli, run: dict[str, Any]) -> None:
    folder = Path(run["folder"])
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = cli("resume", run["run"], "--offline")
    assert done.code == 0
    assert done.out.startswith("# ")
    assert ANSWER in done.out
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert json.loads(cli("resume", run["run"], "--offline", "--json").out)["status"] == "complete"


def test_a_long_question_is_shortened_on_the_screen_and_kept_whole(cli: Cli, docs: Path) -> None:
    question = f"{QUESTION} {'The harbour is wide. ' * 800}".strip()
    done = cli("research", question, "--docs", "docs")
    assert f"{question[:400].rstrip()} … ({len(question):,} characters)" in " ".join(done.err.split())
    assert max(map(len, done.err.splitlines())) < 500
    (metadata,) = Path("runs").glob("*/metadata.json")
    assert json.loads(metadata.read_text())["question"] == question


def test_explain_names_stages_providers_limits_and_calls(cli: Cli, docs: Path) -> None:
    done = cli("explain", QUESTION, "--docs", "docs")
    assert done.code == 0
    words = " ".join(done.out.split())
    assert "Pipeline research, at most 3 rounds:" in words
    assert "↻ query Proposes search queries" in words
    assert "search.engines local" in words
    assert "queries 20" in words
    assert "Estimated model calls: none. Every task is performed by an algorithm. This run costs no money" in words


def test_explain_estimates_what_models_will_cost(cli: Cli, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    settings = ("--set", "plugins.openai.model=unheard-of", "--set", "budget.model_calls=3", "--set", "preset=full")
    words = " ".join(cli("explain", QUESTION, "--docs", "docs", *settings).out.split())
    assert "Pipeline research, preset full, at most" in words
    assert "TASK ASKED BY MODEL CALLS TOKENS IN TOKENS OUT USD" in words
    assert "plan plan openai:unheard-of 1 " in words
    assert 'Price unknown: set ai.prices = { "unheard-of" = { input = …, output = … } }' in words
    assert "Over budget: budget.model_calls = 3: about" in words
    assert "Based on: 2 of at most 3 rounds; " in words
    assert not Path("runs").exists()


def test_explain_as_json(cli: Cli, docs: Path) -> None:
    data = json.loads(cli("explain", QUESTION, "--docs", "docs", "--json").out)
    assert data["question"] == QUESTION
    assert [step["name"] for step in data["steps"] if step["in_loop"]][:2] == ["query", "search"]
    assert {call["kind"] for call in data["expected"]} == {"search", "fetch"}


def test_file_names_with_line_feeds_and_escapes_stay_on_their_line(cli: Cli, own_folders: Path) -> None:
    folder = Path("odd\nname\x1b[31m")
    folder.mkdir()
    (folder / "a\nb\x1b[2J港.md").write_text("The harbour of Port Ellery was sounded in 1871 at nine fathoms.")
    done = cli("research", QUESTION, "--docs", str(folder))
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
