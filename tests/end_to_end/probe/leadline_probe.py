"""A stage that has a chart drawn, code run and texts embedded, and keeps what came of it."""

from leadline import Key, PluginSettings, StageOffer, hookimpl
from leadline.contracts import Run, Stage
from leadline.findings import Findings
from leadline.hookspecs import Offers
from leadline.records import Chart, Code, Record


class Probed(Record):
    drawn: str = ""
    alt: str = ""
    value: object = None
    stderr: str = ""
    likeness: tuple[float, ...] = ()


PROBED: Key[Probed] = Key("probe.done", Probed, file="probe.json")
ROWS = ({"label": "one & only", "value": 1}, {"label": "two", "value": 2})
TEXTS = ("sounding the depth", "soundings of the depths", "a cup of tea")


class Probe:
    async def run(self, findings: Findings, run: Run, /) -> None:
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
        findings[PROBED] = done


@hookimpl
def leadline_stages() -> Offers[Stage]:
    yield StageOffer(lambda *_: Probe(), PluginSettings, "Uses every verb", gives=(PROBED,))
