"""`leadline verify`: reports of any tool against sources from files and from the web."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
REPORT = """# The bay

The bay is 40 fathoms deep [1]. It was sounded in 1832 [2].

## References

1. Depths of the bay. {base}/depths
2. Soundings, {base}/soundings-of-1831
"""
PAGES = {
    "/depths": "The bay is 40 fathoms deep.",
    "/soundings-of-1831": "The bay was sounded in 1831 by Fitz.",
}


@pytest.fixture
def report() -> Path:
    path = Path("report.md")
    path.write_text(REPORT.format(base="https://example.org"))
    return path


@pytest.fixture
def web(serve: Callable[..., Any]) -> str:
    server = serve(lambda path, body: (200 if path in PAGES else 404, "text/plain; charset=utf-8", PAGES.get(path, "")))
    return str(server.url.removeprefix("http://"))


def verdicts(done: Any) -> dict[str, str | None]:
    return {claim["claim"]: claim["verdict"] for claim in json.loads(done.out)["claims"]}


EXPECTED = {"The bay is 40 fathoms deep.": "supported", "It was sounded in 1832.": "not_judged"}
STRICT = ("--set", "verify.require_support=true")


def test_sources_are_found_by_number_and_by_title(cli: Cli, report: Path) -> None:
    folder = Path("sources")
    folder.mkdir()
    (folder / "01-anything.txt").write_text(PAGES["/depths"])
    (folder / "soundings of 1831.md").write_text(PAGES["/soundings-of-1831"])
    done = cli("verify", str(report), "--sources", "sources", "--json")
    assert verdicts(done) == EXPECTED
    assert done.code == 0
    assert cli("verify", str(report), "--sources", "sources", *STRICT).code == 3


def test_sources_are_fetched(cli: Cli, report: Path, web: str) -> None:
    report.write_text(REPORT.format(base=f"http://{web}"))
    done = cli("verify", str(report), "--fetch", "--json", "--set", f"plugins.web.allow={web}")
    assert verdicts(done) == EXPECTED


def test_a_source_that_cannot_be_read_is_named_and_its_claims_are_not_judged(cli: Cli, report: Path) -> None:
    Path("empty").mkdir()
    done = cli("verify", str(report), "--sources", "empty", "--json")
    assert set(verdicts(done).values()) == {None}
    assert "[1] could not be read: no file in empty" in done.err
    assert done.code == 5
    words = " ".join(cli("verify", str(report), "--sources", "empty").out.split())
    assert "Claims 2: none judged Unread 2 claims whose source was not read" in words
    assert "Passed every citation has a source entry; no claim was judged, because no source was read" in words


def test_part_of_it_read_is_a_part_judged(cli: Cli, report: Path) -> None:
    folder = Path("sources")
    folder.mkdir()
    (folder / "1.txt").write_text(PAGES["/depths"])
    done = cli("verify", str(report), "--sources", "sources")
    assert done.code == 0
    assert "Judged     1 by exact\n" in done.out
    assert "Passed     yes, for the 1 claim that could be judged\n" in done.out


def test_a_report_of_which_no_claim_could_be_judged_has_not_passed(cli: Cli) -> None:
    Path("report.md").write_text("The bay is 912 fathoms deep [1].\n\n## Sources\n\n[1] Depths\n")
    Path("sources").mkdir()
    Path("sources", "1.txt").write_text(PAGES["/depths"])
    done = cli("verify", "report.md", "--sources", "sources")
    assert "Passed     not decided: no claim could be judged" in done.out
    assert done.code == 5


@pytest.mark.parametrize(
    ("data", "kind"), [(b"<!DOCTYPE html>\n<p>Text [1].", "HTML"), (b" \n", "empty"), (b"%PDF\0\1", "binary")]
)
def test_a_file_that_is_no_report_is_refused(cli: Cli, data: bytes, kind: str) -> None:
    Path("report.md").write_bytes(data)
    done = cli("verify", "report.md")
    assert (done.code, f"report.md is {kind}: give a Markdown report" in done.err) == (64, True)


@pytest.fixture
def model(serve: Callable[..., Any]) -> tuple[str, list[Any]]:
    """Return the options of a chat that judges all claims `partial`, and the claims that it was asked about."""
    asked: list[Any] = []

    def chat(path: str, body: Any) -> tuple[int, str, str]:
        claims = re.findall(r"^Claim (\d+): (.*)$", body["messages"][-1]["content"], re.MULTILINE)
        asked.extend(text for _, text in claims)
        partial = {"quote": "The bay", "verdict": "partial", "reason": "A year is missing."}
        verdicts = {"supported": [], "others": [{"claim": int(number), **partial} for number, _ in claims]}
        message = {"role": "assistant", "content": json.dumps(verdicts)}
        usage = {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        reply = {"id": "1", "model": "judge-1", "choices": choices, "usage": usage}
        return 200, "application/json", json.dumps(reply)

    return f"plugins.openai.base_url={serve(chat).url}/v1", asked


PARAPHRASED = "The bay is deep, at forty fathoms [1]. The soundings of the bay were made by Fitz himself [2].\n"


def paraphrased(report: Path) -> None:
    """Write a report in other words than its sources'."""
    text = REPORT.format(base="https://example.org")
    report.write_text(f"# The bay\n\n{PARAPHRASED}\n{text[text.index('## References') :]}")
    Path("sources").mkdir()
    (Path("sources") / "1.txt").write_text(PAGES["/depths"])
    (Path("sources") / "2.txt").write_text(PAGES["/soundings-of-1831"])


def test_a_configured_model_is_asked_what_the_exact_judge_leaves(
    cli: Cli, report: Path, model: tuple[str, list[Any]]
) -> None:
    paraphrased(report)
    options = (
        "verify",
        str(report),
        "--sources",
        "sources",
        "--set",
        model[0],
        "--set",
        "plugins.openai.model=judge-1",
    )
    done = cli(*options, "--json")
    found = json.loads(done.out)
    judged = {claim["judge"] for claim in found["claims"]}
    assert model[1], "the model was asked nothing"
    assert "model" in judged
    assert found["model"] == "openai:judge-1"
    assert sum(found["judged_by"].values()) == 2
    assert [claim["reason"] for claim in found["claims"] if claim["judge"] == "model"] == ["A year is missing."] * 2
    assert found["counts"]["partial"] == 2
    words = " ".join(cli(*options).out.split())
    assert "2 by model (openai:judge-1)" in words
    assert "Cost 100 tokens" in words
    assert not Path("runs").exists()


def test_a_task_set_to_an_algorithm_is_asked_of_no_model(cli: Cli, report: Path, model: tuple[str, list[Any]]) -> None:
    paraphrased(report)
    sets = (model[0], "plugins.openai.model=judge-1", "ai.tasks.verify_claim=embedded")
    done = cli("verify", str(report), "--sources", "sources", *(part for one in sets for part in ("--set", one)))
    assert model[1] == []
    assert "Claims     2: 2 not judged" in done.out


@pytest.mark.parametrize("providers", ["auto", "openai,embedded"])
def test_a_model_that_cannot_be_reached_judges_nothing(cli: Cli, report: Path, providers: str) -> None:
    paraphrased(report)
    sets = (
        f"ai.providers={providers}",
        "plugins.openai.base_url=http://127.0.0.1:9/v1",
        "plugins.openai.model=any",
        "retry.attempts=1",
    )
    done = cli("verify", str(report), "--sources", "sources", *(part for one in sets for part in ("--set", one)))
    if providers == "auto":
        assert done.code == 1
        assert "no AI provider answered the first task (verify_claim): openai at http://127.0.0.1:9/v1" in done.err
    else:
        assert "Claims     2: 2 not judged" in done.out


def test_people_are_told_what_does_not_hold(cli: Cli, report: Path) -> None:
    folder = Path("sources")
    folder.mkdir()
    (folder / "2.txt").write_text(PAGES["/soundings-of-1831"])
    done = cli("verify", str(report), "--sources", "sources")
    assert "not judged [2] It was sounded in 1832." in done.out
    assert "“1832” does not occur in the cited passages\n  nearest sentence of the source: The bay was " in done.out


def test_without_sources_the_citations_alone_are_checked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sys.stdin", io.StringIO("The bay is deep [1][7].\n\n## Sources\n\n[1] Depths\n[2] Soundings\n")
    )
    done = cli("verify", "-")
    assert done.code == 3
    assert "no source entry for 7" in done.out
    assert "--fetch" in done.err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["verify", "missing.md"], "cannot read missing.md"),
        (["verify", "report.md", "--sources", "nowhere"], "no such folder"),
        (["verify", "report.md", "--sources", "x", "--fetch"], "not allowed with"),
    ],
)
def test_wrong_arguments_are_usage_errors(cli: Cli, report: Path, argv: list[str], said: str) -> None:
    done = cli(*argv)
    assert done.code == 64
    assert said in done.err


def test_a_source_is_read_from_the_file_at_its_address_and_never_from_one_like_it(cli: Cli, report: Path) -> None:
    folder = Path("sources")
    folder.mkdir()
    (folder / "run_001.md").write_text("The bay is 12 fathoms deep.")
    (folder / "run_002.md").write_text(PAGES["/depths"])
    (folder / "run_003.md").write_text("A run of ships came.")
    report.write_text(
        "The bay is 40 fathoms deep [1]. A run of ships came [2].\n\n## References\n\n"
        "1. A run. https://example.org/run_002.md\n2. A run of three.\n"
    )
    done = cli("verify", str(report), "--sources", "sources", "--json")
    assert verdicts(done) == {"The bay is 40 fathoms deep.": "supported", "A run of ships came.": None}
    assert "[2] could not be read: no file in sources is named as its number, title or address" in done.err
