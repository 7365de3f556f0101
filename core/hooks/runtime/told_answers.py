"""Checking an answer that no loop has checked: a person has told it, of a draw with consequences that was in doubt.

What was done is done, and is never drawn again; but what depends on the step relies on its requirements. They are
checked as a loop would check them, apart from judges: nobody is asked about what a person has told.
"""

from __future__ import annotations

from typing import Any

from hooks.definition.model import Requirement, SubagentNode
from hooks.definition.requirement_values import output_schema_requirement, requirement_from_json
from hooks.jsonio import canonical
from hooks.kernel.state import AttemptState
from hooks.pipeline.effective import effective_fields
from hooks.runtime.check_processes import check_context
from hooks.runtime.execution_hooks import DispatchContext
from hooks.runtime.requirements import evaluate
from hooks.runtime.step_errors import StepError, step_error
from hooks.sampling.answers import Answer, shown
from hooks.sampling.verdicts import CannotEvaluateError


def is_told(attempt: AttemptState) -> bool:
    """Whether the output of a draw with consequences is not what a loop of this attempt has come to."""
    loop = attempt.loop
    return loop is None or loop.ended is None or loop.ended.error is not None


async def check_told(ctx: DispatchContext, node: SubagentNode, output: Any) -> None:
    """Raises StepError if `output` is not what the step requires, or that cannot be evaluated."""
    answer = Answer(output) if isinstance(output, str) else Answer(canonical(output).decode(), output, output is None)
    problems = []
    for index, requirement in enumerate(_requirements(ctx, node), start=1):
        try:
            verdict = await evaluate(requirement, answer, check_context(ctx, f"check-told-{index}"))
        except CannotEvaluateError as error:
            raise StepError(step_error("RequirementError", "userFault", str(error)), error.stack_trace) from error
        if not verdict.passed:
            problems.append(f"{requirement.name}: {verdict.reason or 'failed'}")
    if problems:
        message = f"{'; '.join(problems)}. {shown(answer.text)}"
        raise StepError(step_error("RequirementsNotMet", "userFault", message))


def _requirements(ctx: DispatchContext, node: SubagentNode) -> list[Requirement]:
    given = effective_fields(ctx.loop.points.occasion)["requirements"]
    requirements = [requirement_from_json(requirement) for requirement in given]
    if node.output_schema is not None:
        requirements.insert(0, output_schema_requirement(node.output_schema))
    return [requirement for requirement in requirements if requirement.judge is None]
