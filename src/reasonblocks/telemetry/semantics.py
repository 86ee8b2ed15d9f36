"""Every name that our spans and metrics use, in one place; nothing else in the code spells one.

Names that start with `gen_ai.` are those of OpenTelemetry's conventions for generative AI. They are still in
development and may change, so they are pinned to the version that `SCHEMA_URL` names. What the conventions have
no name for starts with `reasonblocks.`.
"""

from typing import Final

SCOPE: Final = "reasonblocks"
"""The instrumentation scope: tracer and meter are asked for by this name."""
SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.41.0"

# -- spans ---------------------------------------------------------------------------------------

INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"
"""These three are names of spans, followed by what is invoked, called or executed, and of their operations."""
SPAN_STEP: Final = "step"
"""Followed by the step's index, where the model's call has a span of somebody else's."""
SPAN_EVALUATE: Final = "reasonblocks.evaluate"
SPAN_RETRIEVE: Final = "reasonblocks.retrieve"
"""Followed by who was asked: E1, E2, E3 or one's own class."""
SPAN_RUN_FINISH: Final = "reasonblocks.run_finish"
"""An outcome that came after the run's own span had ended, as `mark_failure` may."""

# -- events on spans -----------------------------------------------------------------------------

EVENT_RUN_START: Final = "run_start"
EVENT_RUN_FINISH: Final = "run_finish"
EVENT_RUN_INTERRUPT: Final = "run_interrupt"
EVENT_STEP: Final = "step"
EVENT_EVALUATION: Final = "gen_ai.evaluation.result"
EVENT_EXCEPTION: Final = "exception"

# -- attributes of the conventions ---------------------------------------------------------------

OPERATION_NAME: Final = "gen_ai.operation.name"
PROVIDER_NAME: Final = "gen_ai.provider.name"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_ID: Final = "gen_ai.agent.id"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_SCORE: Final = "gen_ai.evaluation.score.value"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
ERROR_TYPE: Final = "error.type"
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"
EXCEPTION_STACKTRACE: Final = "exception.stacktrace"
# Content: only where the user asked for it.
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"

# -- attributes of our own -----------------------------------------------------------------------

RUN_ID: Final = "reasonblocks.run.id"
RUN_PARENT_ID: Final = "reasonblocks.run.parent_id"
RUN_RELATION: Final = "reasonblocks.run.relation"
RUN_OUTCOME: Final = "reasonblocks.run.outcome"
RUN_OUTCOME_CLASS: Final = "reasonblocks.run.outcome_class"
RUN_STEPS: Final = "reasonblocks.run.steps"
ORG_ID: Final = "reasonblocks.org.id"
PROJECT_ID: Final = "reasonblocks.project.id"
CODEBASE_ID: Final = "reasonblocks.codebase.id"
TASK_PROFILE: Final = "reasonblocks.task_profile"
FRAMEWORK: Final = "reasonblocks.framework"

STEP_INDEX: Final = "reasonblocks.step.index"
STEP_DIFFICULTY: Final = "reasonblocks.step.difficulty"
STEP_FSM_STATE: Final = "reasonblocks.step.fsm_state"
STEP_GATE: Final = "reasonblocks.step.gate"
STEP_SKIPPED_REASON: Final = "reasonblocks.step.skipped_reason"
STEP_INJECTION_SOURCES: Final = "reasonblocks.step.injection_sources"
STEP_MONITORS_FIRED: Final = "reasonblocks.step.monitors_fired"
STEP_FAILURE_TYPE: Final = "reasonblocks.step.failure_type"
STEP_COMPOSITE: Final = "reasonblocks.step.composite"
STEP_ADDED_MS: Final = "reasonblocks.step.added_ms"
STEP_MODEL_MS: Final = "reasonblocks.step.model_ms"
STEP_ERRORS: Final = "reasonblocks.step.errors"
STEP_ACTION: Final = "reasonblocks.step.action"
STEP_TOOL_FAILED: Final = "reasonblocks.step.tool_failed"
INJECTION_SOURCE: Final = "reasonblocks.injection.source"
RETRIEVAL_FOUND: Final = "reasonblocks.retrieval.found"
# Content: only where the user asked for it.
STEP_OBSERVATION: Final = "reasonblocks.step.observation"
STEP_INTERVENTION_TEXTS: Final = "reasonblocks.step.intervention_texts"

LINK_RELATION: Final = "reasonblocks.link.relation"
"""Why a span is linked to another: it is `nested` in it, `resumed` it, or came by `time_travel`."""

# -- values --------------------------------------------------------------------------------------

FUNCTION_TOOL: Final = "function"
FIRED, NOT_FIRED = "fired", "ok"
"""Labels of a monitor's score."""
SUCCESS, FAILURE = "success", "failure"
"""Classes of outcomes."""
OTHER_ERROR: Final = "_OTHER"
"""What the conventions call an error whose kind is not known."""
TOOL_ERROR: Final = "tool_error"
"""A tool that answered with an error message, without an exception that we could name."""

# -- metrics -------------------------------------------------------------------------------------

METRIC_ADDED: Final = "reasonblocks.step.added.duration"
METRIC_EVALUATION: Final = "reasonblocks.evaluation.duration"
METRIC_INJECTIONS: Final = "reasonblocks.injections"
METRIC_STEPS: Final = "reasonblocks.steps"
METRIC_RUNS: Final = "reasonblocks.runs"
METRIC_BREAKER: Final = "reasonblocks.breaker.open"
METRIC_TELEMETRY: Final = "reasonblocks.telemetry.events"
TELEMETRY_STATE: Final = "reasonblocks.telemetry.state"
TELEMETRY_CAUSE: Final = "reasonblocks.telemetry.cause"
