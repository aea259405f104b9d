"""The endpoint for clients of OpenAI's API: one model for each pipeline; a question is a run.

`routes` is where to begin, and writes chat completions; `responses` writes those of the newer API. `turns` finds the
run of a request, `tools` checks what a request wants it to use, `answers` tells its progress and renders its report.
"""
