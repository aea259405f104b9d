"""A model that cannot be reached: the run fails at once, or falls back where the settings name a substitute."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
QUESTION = "How deep was the harbour of Port Ellery sounded in 1871?"
PLAN = {
    "title": "Depth",
    "sections": [{"id": "1", "title": "The depth", "goal": "Find it", "questions": [QUESTION]}],
}


PATIENT = {"limits.openai.timeout": "20"}
"""For an endpoint that answers, on a machine that is busy."""


class Endpoint:
    """Answers with its replies, then with its status and error; it never answers where the status is 0."""

    def __init__(self, serve: Callable[..., Any]) -> None:
        self.status, self.message = 200, ""
        self.replies: list[dict[str, Any]] = []
        self.closing = threading.Event()
        self.server = serve(self.answer)
        self.url = f"{self.server.url}/v1"

    @property
    def asked(self) -> int:
        return len(self.server.asked)

    def answer(self, path: str, body: Any) -> tuple[int, str, str]:
        if self.replies:
            message = {"role": "assistant", "content": json.dumps(self.replies.pop(0))}
            return 200, "application/json", json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
        if not self.status:
            self.closing.wait(20)
        return self.status or 200, "application/json", json.dumps({"error": {"message": self.message}})


@pytest.fixture
def endpoint(serve: Callable[..., Any]) -> Iterator[Endpoint]:
    made = Endpoint(serve)
    yield made
    made.closing.set()


@pytest.fixture
def closed_port(serve: Callable[..., Any]) -> str:
    server = serve(lambda path, body: (200, "text/plain", ""))
    server.close()
    return f"{server.url}/v1"


def research(cli: Cli, url: str, *providers: str, **settings: str) -> Any:
    values = {
        "ai.providers": ",".join(providers),
        "plugins.openai.base_url": url,
        "plugins.openai.model": "small",
        "plugins.openai.stream": "false",
        "limits.openai.timeout": "0.3",
        "retry.base": "0",
        "runs.folder": "runs",
    }
    sets = [part for name, value in (values | settings).items() for part in ("--set", f"{name}={value}")]
    return cli("research", QUESTION, "--docs", "docs", *sets)


def folder_of(runs: str = "runs") -> Path:
    (folder,) = (path.parent for path in Path(runs).glob("*/metadata.json"))
    return folder


FAULTS = [
    pytest.param(401, "Incorrect API key provided", "does not accept the key", id="wrong key"),
    pytest.param(404, "The model `small` does not exist", "has no model 'small' (HTTP 404)", id="wrong model"),
    pytest.param(0, "", "no reply within 0.3 s", id="no answer"),
]


def assert_stopped(done: Any, url: str, cause: str) -> None:
    out = " ".join(done.err.split())
    assert done.code == 1
    assert f"no AI provider answered the first task (plan): openai at {url}: " in out
    assert cause in out
    assert "`leadline plugins show openai`" in out
    assert "--set ai.providers=embedded" in out
    folder = folder_of()
    metadata = json.loads((folder / "metadata.json").read_text())
    assert metadata["status"] == "failed"
    assert metadata["calls"].get("query/batch", 0) <= 1, "nothing but the question itself is searched for"
    assert not list(folder.glob("report.*"))


@pytest.mark.parametrize(("status", "message", "cause"), FAULTS)
def test_a_model_that_refuses_stops_the_run(
    cli: Cli, docs: Path, endpoint: Endpoint, status: int, message: str, cause: str
) -> None:
    endpoint.status, endpoint.message = status, message
    assert_stopped(research(cli, endpoint.url, "openai"), endpoint.url, cause)


def test_a_closed_port_stops_the_run(cli: Cli, docs: Path, closed_port: str) -> None:
    assert_stopped(research(cli, closed_port, "openai"), closed_port, "no connection")


@pytest.mark.parametrize(("status", "message", "cause"), FAULTS)
def test_a_fallback_answers_and_that_is_said_once(
    cli: Cli, docs: Path, endpoint: Endpoint, status: int, message: str, cause: str
) -> None:
    endpoint.status, endpoint.message = status, message
    done = research(cli, endpoint.url, "openai", "embedded")
    said = "openai is left out of this run: "
    assert done.code == 4
    assert "nine fathoms at the mole" in done.out
    assert done.err.partition("\nQuestion ")[0].count(said) == 1
    assert "was done by embedded" not in done.err
    report = (folder_of() / "report.md").read_text()
    assert report.lower().count(said) == 1
    assert "embedded does its tasks" in report


def test_a_resumed_run_asks_the_model_again(cli: Cli, docs: Path, endpoint: Endpoint) -> None:
    endpoint.status, endpoint.message = 401, "Incorrect API key provided"
    research(cli, endpoint.url, "openai")
    assert endpoint.asked == 1
    done = cli("resume", str(folder_of()))
    assert (endpoint.asked, done.code) == (2, 1)


def test_a_model_that_fails_later_does_not_stop_the_run(cli: Cli, docs: Path, endpoint: Endpoint) -> None:
    endpoint.replies = [PLAN]
    endpoint.status, endpoint.message = 401, "Incorrect API key provided"
    done = research(cli, endpoint.url, "openai", **PATIENT)
    assert done.code == 4
    assert "no AI provider answered" not in done.err
    metadata = json.loads((folder_of() / "metadata.json").read_text())
    assert (metadata["status"], metadata["reason"]["message"]) == (
        "partial",
        "no model did synthesize: see the notices",
    )
    refused, missing = "does not accept the key (HTTP 401)", "a summary, analysis or conclusion is missing "
    notices = [notice["message"] for notice in metadata["notices"]]
    assert [text for text in notices if text.startswith("section ") and refused in text]
    assert [text for text in notices if text.startswith(missing) and refused in text]
    assert "nine fathoms at the mole" in (folder_of() / "report.md").read_text()


def test_a_plan_of_another_run_is_no_answer(cli: Cli, docs: Path, endpoint: Endpoint) -> None:
    endpoint.replies = [PLAN]
    endpoint.status, endpoint.message = 401, "Incorrect API key provided"
    research(cli, endpoint.url, "openai", **PATIENT)
    done = research(cli, endpoint.url, "openai", **PATIENT, **{"runs.folder": "others"})
    assert done.code == 1
    assert "no AI provider answered the first task (query)" in " ".join(done.err.split())


def test_auto_chooses_no_fallback_for_a_model_that_is_set_up(cli: Cli, docs: Path, closed_port: str) -> None:
    assert_stopped(research(cli, closed_port, "auto"), closed_port, "no connection")
