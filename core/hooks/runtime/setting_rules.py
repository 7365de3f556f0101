"""What a hook may set a field to: what a file may, and what the work it is set for can honour."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from hooks.definition.given_sampling import requirement_problem, sampling_problem
from hooks.definition.hook_points import HookType
from hooks.definition.model import TOOLS_OPTION, AgentDeclaration, HostExecutorNode, SubagentNode, Workflow
from hooks.definition.output_schema import why_no_schema
from hooks.definition.requirement_values import OUTPUT_SCHEMA, sampling_from_json
from hooks.expressions.secrets import secrets_named
from hooks.pipeline.payload_parts import Occasion
from hooks.runtime.prepared_call import PreparedCall

Prepare: TypeAlias = Callable[[str, Any, str | None], PreparedCall]
"""Makes a call ready: of which executor, with which input, in which directory. Raises ValueError if it cannot be."""


class SettingRules:
    """The rules of one workflow. What they say may be asked for in a thread."""

    def __init__(self, definition: Workflow, prepare: Prepare) -> None:
        self._agents: dict[str, AgentDeclaration] = {agent.name: agent for agent in definition.agents}
        self._prepare = prepare

    def accepts(self, hook: HookType, occasion: Occasion, agent: str | None) -> Callable[[str, Any], str | None]:
        """For the fields of one dispatch: why a value cannot be used, or None. `agent` is who is called."""

        def accepts(field: str, value: Any) -> str | None:
            node = occasion.node
            if isinstance(node, HostExecutorNode):
                return self._problem_of_call(occasion, node, value) if field == "input" else None
            called = self._agents[agent or node.agent]
            if hook == HookType.GENERATION_PRE_CALL and not called.repeatable:
                return "this draw is an effect; hooks of effect_pre_attempt may change its input"
            return self._problem_of(hook, field, value, node, called)

        return accepts

    def _problem_of_call(self, occasion: Occasion, node: HostExecutorNode, value: Any) -> str | None:
        if node.read_only:
            return "the input of a read-only call cannot be changed"
        component = occasion.component
        try:
            prepared = self._prepare(node.executor, value, component.cwd)
            named = secrets_named(prepared.parsed_input, component.secret_pointers)
        except ValueError as error:
            return str(error)
        strange = sorted(set(named) - set(node.secrets))
        return f"the step does not list the secret {strange[0]}" if strange else None

    def _problem_of(
        self, hook: HookType, field: str, value: Any, node: SubagentNode, called: AgentDeclaration
    ) -> str | None:
        match field:
            case "model_options" if hook == HookType.VALIDATION_PRE_CHECK:
                judges = {entry.judge.agent for entry in node.requirements if entry.judge is not None}
                return next(filter(None, (_unhonoured(self._agents[name], value) for name in sorted(judges))), None)
            case "model_options":
                return _unhonoured(called, value)
            case "tool_calls_enabled":
                return None if not value or TOOLS_OPTION in called.honoured_options else _no_tools(called)
            case "requirements":
                return self._problem_of_requirements(value)
            case "strategy" if value is not None:
                return sampling_problem(value) or self._problem_of_budget(sampling_from_json(value).loop_budget, called)
            case "loop_budget":
                return self._problem_of_budget(value, called)
            case "input":
                return _problem_of_draw(called, value)
        return None

    def _problem_of_requirements(self, requirements: Collection[dict[str, Any]]) -> str | None:
        names = [requirement.get("name") for requirement in requirements]
        for requirement in requirements:
            name = requirement.get("name")
            if requirement.get("origin") == name == OUTPUT_SCHEMA:
                continue  # the step's own, given back; it is checked as the step has it, whatever is said of it here
            if names.count(name) > 1:
                return f"two requirements are called {name!r}"
            if problem := requirement_problem(requirement, self._agents):
                return f"the requirement {name!r}: {problem}"
        return None

    def _problem_of_budget(self, loop_budget: int, called: AgentDeclaration) -> str | None:
        if loop_budget > 1 and not called.repeatable:
            return f"agent {called.name} is not repeatable: its draws have consequences, and one is made"
        return None


def _problem_of_draw(called: AgentDeclaration, value: dict[str, Any]) -> str | None:
    if value.keys() != {"prompt", "model_options", "format"}:
        return "it has prompt, model_options and format, and nothing else"
    if not isinstance(value["prompt"], str) or not isinstance(value["model_options"], dict):
        return "prompt is text, and model_options an object"
    if value["format"] is not None and (reason := why_no_schema(value["format"])) is not None:
        return f"format is no JSON Schema: {reason}"
    return _unhonoured(called, value["model_options"])


def _unhonoured(agent: AgentDeclaration, options: Collection[str]) -> str | None:
    unknown = sorted(set(options) - agent.honoured_options)
    if not unknown:
        return None
    known = ", ".join(sorted(agent.honoured_options)) or "none"
    return f"agent {agent.name} does not honour {', '.join(unknown)} (it honours: {known})"


def _no_tools(agent: AgentDeclaration) -> str:
    return f"agent {agent.name} has no {TOOLS_OPTION} among its options, so that it could not be told"
