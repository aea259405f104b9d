"""The names in traces: those of OpenTelemetry's conventions for generative AI, and Leadline's own.

`gen_ai.*` and `error.type` are as in the package opentelemetry-semantic-conventions 0.66b2 (schema 1.44.0). All of
`gen_ai.*` is in development there, so the names may change: this file is the only one that has them. The separate
repository semantic-conventions-genai, v0.1.0, already replaces `gen_ai.workflow.name` by `gen_ai.agent.name`.
"""

from __future__ import annotations

from typing import Final

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.44.0"

# Attributes of the conventions.
OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
WORKFLOW: Final = "gen_ai.workflow.name"
DATA_SOURCE: Final = "gen_ai.data_source.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
ERROR_TYPE: Final = "error.type"

# Values of `gen_ai.operation.name`.
INVOKE_WORKFLOW: Final = "invoke_workflow"
CHAT: Final = "chat"
RETRIEVAL: Final = "retrieval"
EMBEDDINGS: Final = "embeddings"

# The conventions have no names for these.
RUN_ID: Final = "leadline.run.id"
STATUS: Final = "leadline.run.status"
CLAIMS: Final = "leadline.claims."
STAGE: Final = "leadline.stage.name"
ROUND: Final = "leadline.stage.round"
CALL_KIND: Final = "leadline.call.kind"
CALL_PROVIDER: Final = "leadline.call.provider"
CALL_TASK: Final = "leadline.call.task"
ATTEMPTS: Final = "leadline.call.attempts"
COST: Final = "leadline.call.cost_usd"
ORIGIN: Final = "leadline.call.from"
# Events of spans.
ANSWERED: Final = "leadline.call.answered"
RETRIED: Final = "leadline.call.retried"
FAULT: Final = "leadline.error"
ASKED: Final = "leadline.question"
