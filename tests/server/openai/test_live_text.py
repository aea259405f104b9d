"""Text while it is written, through a server whose two workers are processes of their own, with the real client."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.conftest import PATIENCE

openai = pytest.importorskip("openai", reason="needs the client of OpenAI's API: pip install openai")
pytestmark = pytest.mark.slow
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("live")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        import bench_serve
        from emulator_use import emulator

        environment = dict(os.environ)
        try:
            with emulator(first_token=0.2, tokens_per_second=400) as world:
                bench_serve.install(folder, world.port)
                with bench_serve.server(folder, world, workers=2, runs=1) as (address, _, _):
                    yield address
        finally:
            os.environ.clear()
            os.environ.update(environment)


def stream(url: str, model: str, question: str) -> list[tuple[float, str, str]]:
    """Return what a client receives: the time, `reasoning` or `content`, and the text."""
    received: list[tuple[float, str, str]] = []
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=PATIENCE) as client:
        said = [{"role": "user", "content": question}]
        for chunk in client.chat.completions.create(model=model, messages=said, stream=True):
            delta = chunk.choices[0].delta
            for kind in ("reasoning", "content"):
                if text := getattr(delta, kind, None):
                    received.append((time.monotonic(), kind, text))
    return received


def joined(received: list[tuple[float, str, str]], kind: str) -> str:
    return "".join(text for _, one, text in received if one == kind)


def test_an_answer_that_nothing_checks_comes_as_it_is_written(url: str) -> None:
    received = stream(url, "leadline-chat", "Why is the sky blue over the harbour of Rotterdam?")
    pieces = [(at, text) for at, kind, text in received if kind == "content"]
    *written, (end, link) = pieces
    assert len(written) > 3, pieces
    assert end - written[0][0] > 0.2
    assert link.startswith("\n\n---\n[Report")
    run = joined(received, "reasoning").partition("[Run ")[2].partition("]")[0]
    report = httpx.get(f"{url}/v1/runs/{run}/files/report.md", trust_env=False).text
    assert "".join(text for _, text in written) in report


def test_a_report_is_told_as_progress_while_it_is_written_and_sent_when_it_was_checked(url: str) -> None:
    with ThreadPoolExecutor() as threads:  # each worker has one of the runs
        questions = [f"In case {case}, how do ports pay for shore power?" for case in (1, 2)]
        for received in threads.map(lambda one: stream(url, "leadline-research", one), questions):
            kinds = [kind for _, kind, _ in received]
            assert kinds == sorted(kinds, reverse=True), "all progress, then the report"
            sections = [one for one in joined(received, "content").split("\n## ") if "/evidence/" in one]
            assert len(sections) > 1
            first = next(at for at, kind, _ in received if kind == "content")
            draft = joined(received, "reasoning")
            sentences = [words for words in draft.splitlines() if len(words) > 80 and not words.startswith("- ")]
            assert sentences, draft
            early = next(at for at, kind, text in received if sentences[-1][:20] in text)
            assert early < first


def test_the_stream_of_events_has_text_on_request(url: str) -> None:
    with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False) as http:
        run = http.post("/v1/runs", json={"question": "What does shore power cost?", "pipeline": "chat"}).json()["id"]
        with http.stream("GET", f"/v1/runs/{run}/events", params={"deltas": 1}) as reply:
            frames = [frame for frame in "".join(reply.iter_text()).split("\n\n") if "data: " in frame]
        seen: list[Any] = [json.loads(frame.partition("data: ")[2]) for frame in frames]
        pieces = [event for event in seen if event["kind"] == "call.delta"]
        assert len(pieces) > 3
        assert not any(frame.startswith("id: ") for frame in frames if "event: call.delta" in frame)
        text = "".join(event["data"]["said"] for event in pieces).strip()
        assert text in http.get(f"/v1/runs/{run}/files/report.md").text
        assert [event["seq"] for event in seen] == sorted(event["seq"] for event in seen)
        plain = http.get(f"/v1/runs/{run}/events").text
        assert "call.delta" not in plain
        assert plain.count("\nid: ") == len(seen) - len(pieces)
        assert http.get(f"/v1/runs/{run}/events", params={"deltas": "x"}).status_code == 422
