"""A stage that has a chart drawn, code run, texts embedded and rated and a claim judged, and keeps the results."""

from leadline.plugin import Chart, Claim, Code, Evidence, Findings, JudgeRequest, Key, Record, StageRun, stage


class Probed(Record):
    drawn: str = ""
    alt: str = ""
    value: object = None
    stderr: str = ""
    likeness: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()
    verdicts: tuple[str, ...] = ()


PROBED: Key[Probed] = Key("probe.done", Probed, file="probe.json")
ROWS = ({"label": "one & only", "value": 1}, {"label": "two", "value": 2})
TEXTS = ("sounding the depth", "soundings of the depths", "a cup of tea")


@stage("Uses every verb", gives=(PROBED,))
class Probe:
    async def run(self, findings: Findings, run: StageRun, /) -> None:
        done = Probed()
        if run.settings.charts.runner:
            figure = await run.draw(Chart(id="c", title="Bars", chart_type="bar", rows=ROWS))
            done = done.model_copy(update={"drawn": figure.media["image/svg+xml"].decode(), "alt": figure.alt})
        if run.settings.code.sandbox:
            good = await run.execute(Code(language="postfix", text="3 4 + 2 *"))
            bad = await run.execute(Code(language="postfix", text="1 0 /"))
            done = done.model_copy(update={"value": good.value, "stderr": bad.stderr})
        if run.settings.ai.embedder:
            first, *others = (await run.embed(TEXTS)).vectors
            likeness = tuple(sum(a * b for a, b in zip(first, other, strict=True)) for other in others)
            done = done.model_copy(update={"likeness": likeness})
        if ranking := await run.rerank(TEXTS[0], TEXTS):
            done = done.model_copy(update={"scores": ranking.scores})
        if "careful" in run.settings.verify.judges:
            passage = Evidence(id="e1", source_id="s1", quote=TEXTS[0], span=(0, len(TEXTS[0])))
            claim = Claim(id="1.1", section_id="1", text=TEXTS[0], span=(0, 0), evidence_ids=("e1",))
            made = await run.judge(JudgeRequest(claims=(claim,), passages=(passage,)), "careful")
            done = done.model_copy(update={"verdicts": tuple(one.verdict for one in made.judgements)})
        findings[PROBED] = done
