"""Questions of a measure: what says of which kind the figure is need not stand in the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import leadline
from leadline_plugins.ai.embedded.asked import asked

TEXTS = {
    "lake": "The lake Orla is 40 metres deep. It lies in the north. Its dam was built in 1931. "
    "The dam is 31 metres in height. The dam cost 4 million dollars.",
    "units": "A fathom is six feet. A cable is a hundred fathoms.",
    "see": "Der See Orla liegt im Norden. Sein Damm wurde 1931 gebaut. Der Damm misst 31 Meter in der Höhe.",
    "lac": "Le lac Orla est au nord. Le barrage a été construit en 1931. Le barrage a coûté 4 millions.",
}


async def answered(folder: Path, question: str) -> leadline.Result:
    docs = folder / "docs"
    docs.mkdir()
    for name, text in TEXTS.items():
        (docs / f"{name}.txt").write_text(text)
    values = {"ai.providers": ["embedded"], "search.engines": ["local"]}
    async with leadline.Client(docs=docs, folder=folder / "runs", cache=folder / "cache", set=values) as client:
        return await client.research(question)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How much did the dam of lake Orla cost?", "4 million dollars"),
        ("How high is the dam of lake Orla?", "31 metres in height"),
        ("How deep is lake Orla?", "40 metres deep"),
        ("How long is a cable?", "a hundred fathoms"),
        ("Wie hoch ist der Damm des Sees Orla?", "31 Meter in der Höhe"),
        ("Combien a coûté le barrage du lac Orla ?", "4 millions"),
    ],
)
async def test_a_plain_question_of_a_figure_is_answered(question: str, answer: str, tmp_path: Path) -> None:
    result = await answered(tmp_path, question)
    assert result.status == "complete", result.reason
    assert answer in result.text


@pytest.mark.parametrize(
    ("question", "whole", "lacking"),
    [
        ("How many people live at lake Orla?", "people live lake Orla", "people live"),
        ("How far is lake Orla from Port Ellery?", "lake Orla Port Ellery", "Port Ellery"),
        ("How fast is the ferry to Port Ellery?", "ferry Port Ellery", ""),
    ],
)
async def test_what_stands_nowhere_is_no_answer(question: str, whole: str, lacking: str, tmp_path: Path) -> None:
    result = await answered(tmp_path, question)
    assert result.status == "no_evidence"
    if lacking:
        assert result.reason.endswith(f"no passage has all of: {whole}; the closest lacks: {lacking}")


@pytest.mark.parametrize(
    ("question", "measures"),
    [
        ("How old is the Old Bridge?", set()),
        ("How old is the bridge?", {"old"}),
        ("How did the high dam fail?", set()),
        ("How much?", set()),
        ("How many layers has the OSI model, and how long is a frame?", {"mani", "long"}),
        ("奥拉湖大坝有多高？", {"多高"}),
        ("长江有多长", {"多长"}),
        ("Hoe hoog is de dam?", {"hoog"}),
    ],
)
def test_a_measure_is_what_the_question_has_for_the_figure_alone(question: str, measures: set[str]) -> None:
    found = asked(question)
    assert found.measures == measures
    assert set(found.terms) >= measures
