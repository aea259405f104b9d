"""The endpoint for clients of OpenAI's API: one model for each pipeline; a question is a run.

`routes` is where to begin. `turns` finds the run of a request, `side_requests` those that are none, `answers` tells the
progress of a run and renders its report, `chunks` writes both in OpenAI's form.
"""
