"""The endpoint for clients of OpenAI's API: one model for each pipeline; a question is a run.

`routes` is where to begin, and writes OpenAI's form. `turns` finds the run of a request, `side_requests` those that are
none, `answers` tells the progress of a run and renders its report.
"""
