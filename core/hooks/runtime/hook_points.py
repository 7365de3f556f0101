"""Where the runtime asks the hooks: one method per hook point.

Each builds its payload only when somebody listens, lets the pipeline ask, records what was decided and only then acts
on it. What a hook sees is durable before it is asked; what it decided is durable before the work it judges starts.
"""

from __future__ import annotations

from typing import Any, Protocol

from hooks.events.payloads import ErrorInfo
from hooks.kernel.state import AttemptState


class BlockedByHookError(Exception):
    """A hook said no, or failed; `error` is a PluginViolationError with class policy or hook_error."""

    def __init__(self, error: ErrorInfo) -> None:
        super().__init__(error.error_message)
        self.error = error


class HookPoints(Protocol):
    """The hook points around every agent step and executor call of a run."""

    async def component_pre_execute(self, attempt: AttemptState) -> dict[str, Any]:
        """Ask before the work; what was changed, field to new value. Raises BlockedByHookError."""

    async def component_post_success(self, attempt: AttemptState) -> None:
        """Ask whether the result may stand. Raises BlockedByHookError."""

    async def component_post_error(self, attempt: AttemptState) -> None:
        """Tell of a failure; what is said here is recorded, and the first error stands."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...


class NobodyListens:
    """The hook points of a run without hooks."""

    async def component_pre_execute(self, attempt: AttemptState) -> dict[str, Any]:
        return {}

    async def component_post_success(self, attempt: AttemptState) -> None: ...

    async def component_post_error(self, attempt: AttemptState) -> None: ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...
