"""What a plugin keeps for itself in a run: one JSON object, saved with its decisions whenever it has changed."""

from __future__ import annotations

from typing import Any

from hooks.errors import JsonBorderError
from hooks.events.payloads import HookSetMember, PluginState
from hooks.jsonio import canonical, check, parse
from hooks.pipeline.verdicts import HookFault


def memory_key(member: HookSetMember, plugin: str) -> str:
    """What tells the plugin's memory from others', over all scopes; the same in every driver of the run."""
    return f"{member.origin}:{member.node_id or ''}:{member.name}" + (f":{plugin}" if plugin != member.name else "")


class Memory:
    """The state of one plugin. `state` is what its hooks change; `taken` says what is to be saved."""

    def __init__(self, key: str, saved: Any = None) -> None:
        self.key = key
        self._saved = canonical(saved or {})
        self.state: dict[str, Any] = parse(self._saved)

    def taken(self) -> PluginState | None:
        """The state if it differs from what was last taken. Raises HookFault for what is no JSON."""
        try:
            now = canonical(self.state)
            if now == self._saved:
                return None
            check(self.state)
        except JsonBorderError as error:
            raise HookFault(f"ctx.state is no JSON object: {error}") from error
        except RuntimeError as error:
            raise HookFault(f"ctx.state is changed by another thread while it is saved: {error}") from error
        self._saved = now
        return PluginState(key=self.key, value=parse(now))
