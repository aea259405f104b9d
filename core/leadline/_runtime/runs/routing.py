"""A run whose first pipeline only chooses another: it continues with that one, over the same journal and events."""

from __future__ import annotations

from leadline._runtime.plugins import PluginRuntime
from leadline._runtime.runs.conversations import pipeline_of
from leadline._runtime.runs.run_context import RunContext
from leadline.errors import ConfigError
from leadline.pipeline import Pipeline
from leadline.records import Conversation
from leadline.research_findings import Route


def refusal(route: Route, error: ConfigError) -> ConfigError:
    """Return the error of a pipeline that was chosen and cannot run, with the way around it."""
    return ConfigError(
        f"the pipeline {route.pipeline} was chosen ({route.reason}) and cannot run: {error}; choose another pipeline"
    )


async def continued(
    run: RunContext, route: Route, plugins: PluginRuntime, conversation: Conversation | None
) -> tuple[RunContext, Pipeline]:
    """Return the context and the pipeline with which a run continues. Raises `ConfigError`.

    Observers are those of the beginning. What the first pipeline spent counts in the budget of the second.
    """
    sentence = f"pipeline: {route.pipeline} ({route.reason})"
    request = run.request.with_settings(plugins.loaded).model_copy(update={"route": sentence})
    pipeline = pipeline_of(request.pipeline, plugins, conversation)
    await plugins.open()
    names = plugins.chosen["middleware"]
    middleware = {name: await plugins.instance("middleware", name).open() for name in names}
    await run.close()
    after = RunContext(
        request,
        run.folder,
        plugins,
        run.journal,
        run.bus,
        pipeline,
        metadata=run.metadata,
        middleware=middleware,
        asker=run.questions.asker,
    )
    after.state.continue_from(run.state)
    after.budget.keep_time(run.budget)
    after.state.notices.extend(one for one in plugins.loaded.notices if one not in after.state.notices)
    if not run.readonly:
        await request.store(run.journal)
    about = route.model_dump(include={"pipeline", "reason", "by"})
    await run.bus.emit("route", {**about, "steps": list(after.stages)})
    for text in (sentence, *(one for one in plugins.loaded.choices if one not in run.plugins.loaded.choices)):
        await run.bus.emit("notice", {"message": text})
    return after, pipeline
