from leadline import PluginSettings, StageOffer, TaskKind, hookimpl
from leadline.contracts import Run, Stage
from leadline.errors import CallFailed, CallRefused
from leadline.findings import Findings
from leadline.hookspecs import Offers
from leadline.research_findings import REVIEW, Review

ASK = TaskKind("second_opinion", Review, Review, prompt="Review this review: which gaps did it miss?")


class SecondOpinion:
    async def run(self, findings: Findings, run: Run, /) -> None:
        if not await run.by_chat(ASK.name, ASK.role):
            return  # without a language model no provider knows this task, and the first review remains
        try:
            findings[REVIEW] = await run.perform(ASK.of(findings[REVIEW]))
        except CallRefused:
            raise  # a refusal by Leadline (budget, deadline, stop) must always pass
        except CallFailed as failed:
            await run.emit("notice", {"message": f"there is no second opinion: {failed}"})


@hookimpl
def leadline_stages() -> Offers[Stage]:
    yield StageOffer(
        lambda *_: SecondOpinion(),
        PluginSettings,
        "Reviews the review",
        needs=(REVIEW,),
        gives=(REVIEW,),
        tasks=(ASK,),
    )
