from leadline import PluginSettings, StageOffer, TaskKind, hookimpl
from leadline.contracts import Run, Stage
from leadline.errors import CallFailed, CallRefused
from leadline.findings import REVIEW, Findings, Review
from leadline.hookspecs import Offers

ASK = TaskKind("second_opinion", Review, Review, prompt="Review this review: which gaps did it miss?")


class SecondOpinion:
    async def run(self, findings: Findings, run: Run, /) -> None:
        if not await run.by_chat(ASK.name, ASK.role):
            return  # no language model is set up: nobody else knows this task, and the first review stands
        try:
            findings[REVIEW] = await run.perform(ASK.of(findings[REVIEW]))
        except CallRefused:
            raise  # the house's refusal (budget, deadline, stop) always passes
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
