"""What every payload has, and how a field is marked as one that a hook may change."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from hooks.definition.hook_points import HookType
from hooks.pipeline.dispatch import Json, PayloadDocument
from hooks.pipeline.payload_values import Action, FrozenModel, FrozenObject, VerdictView


class _Writable:
    """Marks a field that a hook may change; the schema says so too."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "writable": True}


Writable = _Writable()


class HookPayload(FrozenModel):
    """What every hook is shown."""

    point: ClassVar[HookType]

    schema_version: Literal[1]
    hook: str
    """The name of the hook point."""
    run_id: str
    workflow_id: str
    node_id: str | None
    """Null where it is about the run as a whole, like the next five."""
    activity_id: str | None
    attempt_id: str | None
    attempt: int | None
    """From 1."""
    loop_iteration: int | None
    """The round of the loop that the node is in, from 1."""
    item_index: int | None
    """The item of the fan-out, from 0."""
    session_id: str
    """The run id again, by the name that hooks of CLI agents look for."""
    request_id: str
    """The same when a hook is asked again after a crash, so that it can drop a repeat."""
    timestamp: str
    """When what it tells of was recorded: ISO 8601, UTC; the same in a replay."""
    params: FrozenObject
    user_metadata: FrozenObject
    """`metadata` of the workflow, over it that of the node, over both `--meta` of the run."""
    verdict: VerdictView | None
    """What the dispatch came to, for audit and fire_and_forget; null for hooks that decide."""

    @classmethod
    def writable_fields(cls) -> tuple[str, ...]:
        """The fields that a hook may change."""
        return tuple(name for name, field in cls.model_fields.items() if Writable in field.metadata)

    @classmethod
    def why_not_writable(cls, document: PayloadDocument) -> str | None:
        """Why the writable fields of this one payload may not be changed after all, if so."""
        return None

    @classmethod
    def why_not_changed(cls, document: PayloadDocument, name: str, value: Json) -> str | None:
        """Why this field may not become `value`, though its type is right, if so."""
        return None

    @classmethod
    def consequences(cls, document: PayloadDocument, changes: dict[str, Json], plugin: str) -> dict[str, Json]:
        """The changes of a hook with what follows from them in other fields."""
        return changes


class ActionPayload(HookPayload):
    """What the hooks around an agent step, its draws and its checks, or an executor call are shown."""

    action_id: str
    action: Action
    """What is asked of the agent or executor: as it was bound, or of a draw as it was really asked."""
