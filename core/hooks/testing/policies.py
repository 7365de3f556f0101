"""A policy asked in a test: about one payload, or about everything that happened in a run."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hooks.definition.hook_points import HookType
from hooks.definition.model import HookEntry
from hooks.pipeline.dispatch import Dispatch, PayloadDocument, Subject, Verdict, VerdictOutcome
from hooks.pipeline.hook_set import resolve_hook_set
from hooks.pipeline.pipeline import Pipeline
from hooks.pipeline.plugins import Registered
from hooks.pipeline.samples import sample_payload
from hooks.runtime.driving import in_own_loop
from hooks.runtime.replaying import Backtested, backtest_run
from hooks.storage.run_directory import RunDirectory


@dataclass(frozen=True, slots=True)
class PolicyAnswer:
    """What hooks have come to: allow, changed, block, ask, or error (a hook failed, and that blocks).

    `changed` has the fields that were changed, each with its new value; `reason` and `code` are those of a block, or
    of the failure; `asks` the reasons why a person should decide; `would` what audit hooks would have done,
    as `would_block: reason`.
    """

    outcome: VerdictOutcome
    changed: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None
    code: str | None = None
    asks: tuple[str, ...] = ()
    would: tuple[str, ...] = ()


def ask_policy(
    *policies: Registered | HookEntry, about: PayloadDocument | HookType | str, home: Path | None = None, **fields: Any
) -> PolicyAnswer:
    """What these hooks say, in their order, about one payload. Not to be called from within an event loop.

    `policies` are hooks in Python as objects (functions, Plugin classes), or entries as in a `hooks:` list, whose
    relative files are looked for from where they are declared. `about` is a payload (of `LogBuilder.payload`, or of a
    run), or a hook point: then a valid payload is made up. `fields` replace fields of it. Commands run in `home`.
    """
    document = dict(about) if isinstance(about, dict) else sample_payload(HookType(about))
    if unknown := fields.keys() - document.keys():
        raise TypeError(f"{document['hook']} has no field {sorted(unknown)[0]!r}; it has: {', '.join(document)}")
    document |= fields
    with tempfile.TemporaryDirectory(prefix="hooks-testing-") as scratch:
        return in_own_loop(_asked(policies, document, home or Path(scratch), Path(scratch)))


def backtest(directory: RunDirectory, *policies: Registered | HookEntry) -> Backtested:
    """What these hooks would have said in a recorded run, point by point; `.stops`: something would not have gone on.

    Nothing is executed and nothing written. Not to be called from within an event loop.
    """
    entries, plugins = _sorted(policies)
    return in_own_loop(backtest_run(directory, resolve_hook_set(entries), plugins=plugins))


async def _asked(
    policies: Sequence[Registered | HookEntry], document: PayloadDocument, home: Path, scratch: Path
) -> PolicyAnswer:
    entries, plugins = _sorted(policies)
    pipeline = Pipeline(
        resolve_hook_set(entries),
        run_id=document["run_id"],
        workflow_id=document["workflow_id"],
        run_directory=scratch,
        working_directory=home,
        transcript=scratch / "events.jsonl",
        plugins=plugins,
    )
    await pipeline.open()
    try:
        return _answer(await pipeline.dispatch(_question(document)))
    finally:
        await pipeline.close()


def _sorted(policies: Sequence[Registered | HookEntry]) -> tuple[list[HookEntry], list[Registered]]:
    entries = [policy for policy in policies if isinstance(policy, HookEntry)]
    return entries, [policy for policy in policies if not isinstance(policy, HookEntry)]


def _question(document: PayloadDocument) -> Dispatch:
    action = document.get("action") or {}
    return Dispatch(
        hook=document["hook"],
        ordinal=1,
        subject=Subject(
            workflow=document["workflow_id"],
            node_id=document["node_id"],
            component_type=document.get("component_type"),
            executor=document.get("executor") or action.get("executor"),
            agent=document.get("agent") or action.get("agent"),
        ),
        payload=lambda: document,
        activity_id=document["activity_id"],
        attempt_id=document["attempt_id"],
        node_id=document["node_id"],
    )


def _answer(verdict: Verdict) -> PolicyAnswer:
    decisions = [] if verdict.decided is None else verdict.decided.decisions
    no = next((decision for decision in decisions if decision.outcome in ("block", "error")), None)
    return PolicyAnswer(
        outcome=verdict.outcome,
        changed=dict(verdict.changes),
        reason=None if no is None else no.reason,
        code=None if no is None else no.code,
        asks=tuple(ask.reason for ask in verdict.asks),
        would=tuple(f"{one.outcome}: {one.reason}" for one in decisions if one.outcome.startswith("would_")),
    )
