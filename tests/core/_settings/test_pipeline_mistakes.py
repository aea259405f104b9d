"""Mistakes in own pipelines: each is refused by name and with its place, all at once, before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline import hookspecs
from leadline.errors import ConfigError
from leadline.findings import Key
from leadline.plugin import PluginSettings, map_stage
from leadline.research_findings import EVIDENCE, PLAN, QUESTION, REPORT, SECTIONS, SOURCES, Question
from leadline.testing.plugins import plugin

STRANGE: Key[Question] = Key("plan", Question)
RATINGS: Key[Question] = Key("ratings", Question)


class Settings(PluginSettings):
    tone: int = 1


class Style:
    async def run(self, findings: Any, run: Any, /) -> None:
        findings[REPORT] = findings[REPORT]


class Rate:
    async def run(self, findings: Any, run: Any, /) -> None:
        findings[RATINGS] = Question(text=f"{len(findings[EVIDENCE])} passages")


def stage(name: str, made: Any = None, **keys: Any) -> Any:
    return plugin(name, hookspecs.stage("For a test", settings=Settings, **keys)(lambda: made))


def changing(name: str, key: Key[Any]) -> Any:
    offer = map_stage("For a test", settings=Settings, over=key, gives=key)(lambda: None)  # type: ignore[arg-type,return-value]
    return plugin(name, offer)


PLUGINS = (
    stage("house_style", Style(), needs=(REPORT,), gives=(REPORT,)),
    stage("rate", Rate(), needs=(EVIDENCE,), gives=(RATINGS,)),
    stage("weigh", needs=(RATINGS,), gives=()),
    stage("stranger", needs=(STRANGE,)),
    stage("rewrite", needs=(SECTIONS,), gives=(PLAN,)),
    stage("sometimes", needs=(QUESTION,), may_give=(RATINGS,)),
    changing("shorten", SOURCES),
)


def own(text: str = "", *, extends: str = 'extends = "research"', rest: str = "") -> str:
    return f'pipeline = "own"\n[pipelines.own]\n{extends}\n{text}\n{rest}'


def stages(*names: str) -> str:
    return own(extends=f"stages = [{', '.join(names)}]")


# What is written, and a part of each error; there must be no others.
MISTAKES: dict[str, tuple[str, tuple[str, ...]]] = {
    "an unknown pipeline": (
        'pipeline = "reserch"',
        ("pipeline: there is no pipeline 'reserch': did you mean",),
    ),
    "an unknown stage": (stages('"clarfy"'), ("pipelines.own.stages: no plugin 'clarfy' is installed: did you mean",)),
    "an unknown stage in a loop": (
        stages('"plan"', '{ loop = ["query", "serch"] }'),
        ("no plugin 'serch' is installed: did you mean 'search'?",),
    ),
    "an unknown stage to insert": (
        own(rest='[pipelines.own.after]\nwrite = ["hous_style"]'),
        ("pipelines.own.after.write: no plugin 'hous_style' is installed: did you mean 'house_style'?",),
    ),
    "a plugin that is no stage": (
        own(rest='[pipelines.own.replace]\nwrite = ["tavily"]'),
        ("is not among the stages: it offers search providers",),
    ),
    "nothing to extend": (
        own(extends='extends = "reserch"'),
        ("pipelines.own.extends: there is no pipeline 'reserch'",),
    ),
    "itself to extend": (own(extends='extends = "own"'), ("the pipelines extend each other: own -> own",)),
    "stages beside extends": (own('stages = ["plan"]'), ("has stages and extends 'research': set one of the two",)),
    "neither of the two": (own(extends='description = "x"'), ("has no stages: set `stages` or `extends`",)),
    "an empty list": (stages(), ("has no stages: set `stages` or `extends`",)),
    "an empty loop": (stages('"plan"', "{ loop = [] }"), ("pipelines.own.stages.1.loop: a loop needs a stage",)),
    "a loop without rounds": (
        stages('"plan"', '{ loop = ["query"], at_most = 0 }'),
        ("pipelines.own.stages.1.at_most: input should be greater than or equal to 1, got 0",),
    ),
    "a loop that nothing ends": (
        stages('"plan"', '"query"', '{ loop = ["search", "fetch"], at_most = 3 }'),
        ("the loop of search, fetch has no stage that can end it; add one, such as `review`, or set at_most = 1",),
    ),
    "a loop in a loop": (
        stages('"plan"', '{ loop = ["query", { loop = ["search"] }] }'),
        ("pipelines.own.stages.1.loop.1: a loop cannot contain a loop",),
    ),
    "a wrong key of a loop": (
        stages('"plan"', '{ loop = ["query"], atmost = 3 }'),
        ("pipelines.own.stages.1.atmost: unknown setting: did you mean 'at_most'?",),
    ),
    "a number for a stage": (stages('"plan"', "3"), ("a stage is the name of a plugin, or { loop = [NAME, …]",)),
    "a number in a loop": (stages('{ loop = ["query", 3] }'), ("a stage is the name of a plugin, not 3",)),
    "a stage twice": (stages('"plan"', '"plan"'), ("stage 'plan' occurs 2 times; repeat it in a loop, or give",)),
    "a stage of a loop once more": (
        own(rest='[pipelines.own.after]\nwrite = ["query"]'),
        ("stage 'query' occurs 2 times",),
    ),
    "a wrong level": (own('level = "agnt"'), ("pipelines.own.level: ", "did you mean 'agent'?")[:1]),
    "a wrong key": (own('witout = ["plan"]'), ("pipelines.own.witout: unknown setting: did you mean 'without'?",)),
    "a number for a list": (own("without = 3"), ("pipelines.own.without: this is a list of stages, not 3",)),
    "a list for a table": (own('after = ["audit"]'), ("pipelines.own.after: this is a table of stages, such as",)),
    "nothing to drop": (
        own('without = ["chrt"]'),
        ("pipelines.own.without: there is no stage 'chrt': did you mean 'chart'",),
    ),
    "nothing to replace": (
        own(rest='[pipelines.own.replace]\nwrit = ["write"]'),
        ("pipelines.own.replace: there is no stage 'writ': did you mean 'write'?",),
    ),
    "a dropped stage as the place": (
        own('without = ["chart"]', rest='[pipelines.own.before]\nchart = ["audit"]'),
        ("pipelines.own.before: there is no stage 'chart' any more: without removes it",),
    ),
    "a needed stage dropped": (
        own('without = ["plan"]'),
        ("stage 'digest' needs 'plan', which no earlier stage gives; put a stage before it that does: plan",),
    ),
    "a needed stage replaced by nothing": (
        own(rest="[pipelines.own.replace]\nwrite = []"),
        ("stage 'verify' needs 'report', which no earlier stage gives; put a stage before it that does: ",),
    ),
    "a wrong order": (
        stages('"digest"', '"plan"'),
        ("stage 'digest' needs 'plan', which no earlier stage gives; 'plan' gives it, but runs later",),
    ),
    "a third-party stage too early": (
        own(rest='[pipelines.own.before]\nwrite = ["house_style"]'),
        ("stage 'house_style' needs 'report', which no earlier stage gives; 'write' gives it, but runs later",),
    ),
    "a third-party stage without the one it needs": (
        own(rest='[pipelines.own.after]\nwrite = ["weigh"]'),
        ("stage 'weigh' needs 'ratings', which no earlier stage gives; put a stage before it that does: rate",),
    ),
    "an input that may be missing": (
        own(rest='[pipelines.own.after]\nwrite = ["sometimes", "weigh"]'),
        ("needs 'ratings', which no earlier stage gives; 'sometimes' gives it only sometimes",),
    ),
    "an input of another type": (
        own(rest='[pipelines.own.after]\nplan = ["stranger"]'),
        ("stage 'stranger' needs 'plan' as Question, but plan gives it as Plan",),
    ),
    "a finding overwritten": (
        own(rest='[pipelines.own.after]\nwrite = ["rewrite"]'),
        ("stage 'rewrite' would overwrite 'plan' of 'plan' unread; leave one of the two out",),
    ),
    "a change that comes too late": (
        own(rest='[pipelines.own.after]\nextract = ["shorten"]'),
        ("stage 'shorten' changes 'sources', but by then", "directly after 'fetch'")[:1],
    ),
    "an unknown tool": (
        own('tools = ["web_serch"]'),
        ("pipelines.own.tools: no plugin has a tool 'web_serch': did you",),
    ),
    "an unknown setting": (
        own('settings = { "verify.require_suport" = true }'),
        ("verify.require_suport: unknown setting: did you mean 'require_support'?",),
    ),
    "a setting of the wrong type": (
        own('settings = { "research.max_queries" = "many" }'),
        ("research.max_queries: input should be a valid integer, got 'many'",),
    ),
    "a setting that is not a pipeline's": (
        own('settings = { pipeline = "research" }'),
        ("pipelines.own.settings: a pipeline cannot set 'pipeline'",),
    ),
    "a wrong value of a third-party stage": (
        own(rest='[pipelines.own.after]\nwrite = ["house_style"]\n[house_style]\ntone = "warm"'),
        ("plugins.house_style.tone: input should be a valid integer, got 'warm'",),
    ),
    "several in one pipeline": (
        own('without = ["plan", "nosuch"]', rest='[pipelines.own.after]\nwrite = ["nope"]\nexport = ["weigh"]'),
        (
            "pipelines.own.without: there is no stage 'nosuch'",
            "pipelines.own.after.write: no plugin 'nope' is installed",
            "stage 'digest' needs 'plan', which no earlier stage gives",
        ),
    ),
    "several of all kinds": (
        own(
            'without = ["plan", "nosuch"]\ntools = ["web_serch"]\nlevel = "agnt"\n'
            'settings = { "verify.require_suport" = true }',
            rest='[clarify]\nmode = "askk"\n[search]\nengines = ["tavly"]',
        ),
        (
            "pipelines.own.without: there is no stage 'nosuch'",
            "stage 'digest' needs 'plan', which no earlier stage gives",
            "pipelines.own.tools: no plugin has a tool 'web_serch'",
            "pipelines.own.level: input should be 'fast', 'analytical' or 'agent', got 'agnt'",
            "verify.require_suport: unknown setting",
            "plugins.clarify.mode: input should be 'ask', 'assume' or 'off', got 'askk'",
            "search.engines: no plugin 'tavly' is installed",
        ),
    ),
}


@pytest.mark.parametrize(("text", "errors"), MISTAKES.values(), ids=MISTAKES.keys())
async def test_mistakes_are_refused_together_and_before_anything_is_made(text: str, errors: tuple[str, ...]) -> None:
    Path("leadline.toml").write_text(text)
    async with leadline.Client(plugins=PLUGINS) as client:
        with pytest.raises(ConfigError) as refused:
            await client.start("How deep is the harbour?")
    told = str(refused.value).splitlines()
    assert [sum(error in line for line in told) for error in errors] == [1] * len(errors), told
    assert len(told) == len(errors), told
    assert all("(leadline.toml:" in line or "(pipeline own)" in line or "cannot set" in line for line in told), told
    assert not Path("runs").exists()
