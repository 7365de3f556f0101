"""The names of things, and how each is derived; nothing here is random except a new run's suffix, which is passed in.

run        release-notes-20260101T120000Z-4f8a2c
activity   <run>::work::<node>
attempt    <activity>::att-<n>
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from hashlib import sha256
from typing import NewType

from hooks.jsonio import canonical

RunId = NewType("RunId", str)
NodeId = NewType("NodeId", str)
ActivityId = NewType("ActivityId", str)
AttemptId = NewType("AttemptId", str)
RevisionId = NewType("RevisionId", str)

NODE_ID = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,64}\Z")
RUN_ID = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,100}\Z")
RESERVED_RUN_IDS = frozenset({"last"})
"""Words that name a run some other way."""


def is_run_id_to_give(word: str) -> bool:
    """Whether a person may give a run this id: one that every command takes for that run and nothing else."""
    return bool(RUN_ID.match(word)) and word not in RESERVED_RUN_IDS and not word.startswith("-")


def new_run_id(workflow_id: str, now_ms: int, suffix: str) -> RunId:
    """A run id that sorts by start time and tells runs of one second apart by `suffix`."""
    moment = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
    return RunId(f"{workflow_id[:64]}-{moment}-{suffix}")


def work_activity(run_id: RunId, node_id: NodeId, *, scope: str = "", item: int | None = None) -> ActivityId:
    """The activity of a node's work; `scope` is `<loop>.<round>` inside a loop, `item` the index in a fan-out."""
    suffix = "" if item is None else f"[{item}]"
    return ActivityId(f"{_scoped(run_id, scope)}::work::{node_id}{suffix}")


def gate_activity(run_id: RunId, node_id: NodeId, *, scope: str = "") -> ActivityId:
    return ActivityId(f"{_scoped(run_id, scope)}::gate::{node_id}")


def _scoped(run_id: RunId, scope: str) -> str:
    return f"{run_id}::loop::{scope}" if scope else run_id


def wait_id(gate: ActivityId, number: int) -> str:
    """The n-th time that this gate opens; an answer to one never counts for another."""
    return f"{gate}::{number}"


def attempt_id(activity_id: ActivityId, attempt: int) -> AttemptId:
    return AttemptId(f"{activity_id}::att-{attempt}")


def attempt_directory(activity_id: ActivityId, attempt: int) -> str:
    """The name below attempts/: short and safe whatever the activity id holds."""
    return f"{sha256(activity_id.encode()).hexdigest()[:32]}-{attempt}"


def call_directory(attempt: str, call: int) -> str:
    """Where a call of an agent leaves its files: the first in the attempt's directory, each later one inside."""
    return attempt if call == 1 else f"{attempt}/call-{call}"


LOOK_UP_DIRECTORY = "lookup"
"""Where, in the directory of an attempt, a look-up that is a process leaves its files."""


def process_marker(token: str, attempt: AttemptId, call: int = 1) -> str:
    """What the processes of an attempt are found by, those of a later call of its agent by one of their own.

    `token` is the run's own: ids alone may be used in two places.
    """
    whose = attempt if call == 1 else generation_id(attempt, call)
    return sha256(f"{token}\n{whose}".encode()).hexdigest()[:32]


def generation_id(attempt: AttemptId, call: int) -> str:
    return f"{attempt}::gen-{call}"


def effect_draw(provider: str) -> int:
    """The draw that the key of an effect is of: an agent whose answers have consequences is its own provider, and its
    effect its first draw."""
    return 1 if provider.startswith("agent:") else 0


def idempotency_key(
    *,
    run_id: RunId,
    workflow_id: str,
    revision_id: RevisionId,
    node_id: NodeId,
    activity_id: ActivityId,
    epoch: int,
    draw: int = 0,
) -> str:
    """`wf_` and 47 hex digits: the same for every attempt of one epoch, so that a provider can drop a repeat."""
    identity = {
        "activityId": activity_id,
        "draw": draw,
        "epoch": epoch,
        "nodeId": node_id,
        "revisionId": revision_id,
        "runId": run_id,
        "workflowId": workflow_id,
    }
    return "wf_" + sha256(canonical(identity)).hexdigest()[:47]
