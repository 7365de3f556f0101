"""An executor call, made ready to be written down and executed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """An executor call made ready: `canonical_input` is what effect-input.json will hold and what is executed."""

    parsed_input: Any
    canonical_input: dict[str, Any]
    provider: str
    idempotency_ttl_ms: int | None = None
