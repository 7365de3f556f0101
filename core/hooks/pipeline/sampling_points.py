"""The points of the sampling loop of an agent step: the loop, its draws, and the checks of each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hooks.definition.hook_points import HookType
from hooks.pipeline.dispatch import Json, PayloadDocument
from hooks.pipeline.payload_base import ActionPayload, Writable
from hooks.pipeline.payload_values import (
    Action,
    Context,
    Error,
    Frozen,
    FrozenObject,
    Output,
    Requirement,
    Validation,
)

MOST_DRAWS = 64


class SamplingPayload(ActionPayload):
    """What the hooks of a sampling loop are shown."""

    sampling_id: str


class SamplingLoopStartPayload(SamplingPayload):
    """Before the first draw of a loop; a block lets none be made."""

    point = HookType.SAMPLING_LOOP_START

    strategy_name: str
    context: Context
    requirements: Frozen[Requirement]
    loop_budget: Annotated[int, Field(ge=1, le=MOST_DRAWS), Writable]
    """How many draws there are at the most: 1 to 64."""


class SamplingIterationPayload(SamplingPayload):
    """After a draw was made and checked; a block ends the loop."""

    point = HookType.SAMPLING_ITERATION

    strategy_name: str
    iteration: Annotated[int, Field(ge=1)]
    result: Output
    validation_results: Frozen[Validation]
    all_validations_passed: bool
    valid_count: int
    total_count: int


class SamplingRepairPayload(SamplingPayload):
    """After a draw failed its checks and before the next one: what is to be different; a block ends the loop."""

    point = HookType.SAMPLING_REPAIR

    repair_type: Literal["rejection", "template", "multi_turn"]
    failed_action: Action
    failed_result: Output
    failed_validations: Frozen[Validation]
    repair_action: Action
    repair_context: Context
    repair_iteration: Annotated[int, Field(ge=1)]


class SamplingLoopEndPayload(SamplingPayload):
    """After a loop, however it ended: what was chosen, or why nothing was; a block withholds the result."""

    point = HookType.SAMPLING_LOOP_END

    strategy_name: str
    success: bool
    iterations_used: int
    final_result: Output | None
    """Of the draw that was chosen, else the best of those that failed; null if none was answered."""
    final_action: Action
    final_context: Context
    failure_reason: str | None
    all_results: Frozen[Output]
    all_validations: Frozen[Frozen[Validation]]
    """A list for each iteration."""


class GenerationPayload(ActionPayload):
    """What the hooks around one draw, or one question to a judge, are shown."""

    generation_id: str
    purpose: Literal["draw", "judge"]
    agent: str
    """Who is asked; of a judge, that agent and not the step's."""


class GenerationPreCallPayload(GenerationPayload):
    """Before an agent is asked, a judge too: what exactly is sent; a block ends the loop."""

    point = HookType.GENERATION_PRE_CALL

    context: Context
    model: str | None
    prompt: Annotated[str, Writable]
    model_options: Annotated[FrozenObject, Writable]
    format: Annotated[FrozenObject | bool | None, Writable]
    tool_calls_enabled: Annotated[bool, Writable]


class GenerationPostCallPayload(GenerationPayload):
    """After an agent has answered; a block ends the loop."""

    point = HookType.GENERATION_POST_CALL

    prompt: str
    model_output: Output
    usage: FrozenObject | None
    latency_ms: int


class GenerationErrorPayload(GenerationPayload):
    """After an agent has failed to answer; its error stands whatever a hook says."""

    point = HookType.GENERATION_ERROR

    prompt: str
    exception: Error
    error_class: str
    latency_ms: int


class ValidationPayload(ActionPayload):
    """What the hooks around the checks of one answer are shown."""

    validation_id: str


class ValidationPreCheckPayload(ValidationPayload):
    """Before an answer is checked; a block ends the loop."""

    point = HookType.VALIDATION_PRE_CHECK

    requirements: Annotated[Frozen[Requirement], Writable]
    target: Output
    """The answer."""
    context: Context
    model_options: Annotated[FrozenObject, Writable]
    """Of judges."""


class ValidationPostCheckPayload(ValidationPayload):
    """After an answer was checked; a block ends the loop.

    Of `results`, a hook may turn `effective_passed` and its `reason`; none can be added, removed or moved. The counts
    follow by themselves.
    """

    point = HookType.VALIDATION_POST_CHECK

    requirements: Frozen[Requirement]
    results: Annotated[Frozen[Validation], Writable]
    all_validations_passed: bool
    passed_count: int
    failed_count: int

    @classmethod
    def why_not_changed(cls, document: PayloadDocument, name: str, value: Json) -> str | None:
        before = document["results"]
        if len(value) != len(before):
            return (
                f"there are {len(before)} results, in this order; none can be added or removed, but {len(value)} came"
            )
        for index, (old, new) in enumerate(zip(before, value, strict=True)):
            changed = [key for key in old if key not in _TURNED and old[key] != new[key]]
            if changed:
                return (
                    f"only effective_passed and reason of a result can be changed, not {changed[0]} of results[{index}]"
                )
        return None

    @classmethod
    def consequences(cls, document: PayloadDocument, changes: dict[str, Json], plugin: str) -> dict[str, Json]:
        """Who turned a verdict is noted with it, and the counts are those of the verdicts as they are now."""
        if "results" not in changes:
            return changes
        pairs = zip(document["results"], changes["results"], strict=True)
        results = [new if old == new else {**new, "changed_by": plugin} for old, new in pairs]
        passed = sum(result["effective_passed"] for result in results)
        counted = {
            "all_validations_passed": passed == len(results),
            "passed_count": passed,
            "failed_count": len(results) - passed,
        }
        return {"results": results, **{name: value for name, value in counted.items() if value != document[name]}}


_TURNED = ("effective_passed", "reason")
