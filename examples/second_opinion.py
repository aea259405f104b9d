from leadline.errors import CallFailed, CallRefused
from leadline.plugin import REVIEW, Findings, Review, StageRun, TaskKind, stage

ASK = TaskKind("second_opinion", Review, Review, prompt="Review this review: which gaps did it miss?")


@stage("Reviews the review", needs=(REVIEW,), gives=(REVIEW,), uses=(ASK,))
class SecondOpinion:
    async def run(self, findings: Findings, run: StageRun, /) -> None:
        if not await run.by_chat(ASK.name, ASK.role):
            return  # without a language model no provider knows this task, and the first review remains
        try:
            findings[REVIEW] = await run.perform(ASK.of(findings[REVIEW]))
        except CallRefused:
            raise  # a refusal by Leadline (budget, deadline, stop) must always pass
        except CallFailed as failed:
            await run.emit("notice", {"message": f"there is no second opinion: {failed}"})
