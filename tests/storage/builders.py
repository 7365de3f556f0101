"""Small runs for the storage tests: real files, made by the code under test."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from hooks import testing
from hooks.events.envelope import Actor, Event
from hooks.events.payloads import (
    ComponentSucceeded,
    NodeSucceeded,
    Payload,
    ResumeStarted,
    RunCreated,
    RunStarted,
    Session,
)
from hooks.storage.durable_files import Durability
from hooks.storage.event_log import EventLog
from hooks.storage.log_reader import LogReader
from hooks.storage.run_creation import CreatedRun, create_run
from hooks.storage.run_directory import RunDirectory

RUN = "demo-run"
WORKFLOW_JSON = b'{"id":"demo"}'
NOW = 1_000


def session(inode: int = 0) -> Session:
    return Session(pid=1, start_time=2, boot_id="boot", host="host", inode=inode)


def run_created(inode: int = 0, *, workflow_id: str = "demo", durability: Durability = "relaxed") -> RunCreated:
    revision = sha256(WORKFLOW_JSON).hexdigest()
    return testing.run_created(workflow_id, revision_id=revision, durability=durability, session=session(inode))


def resume_started(inode: int) -> ResumeStarted:
    return ResumeStarted(session=session(inode))


def succeeded(node_id: str) -> NodeSucceeded:
    return NodeSucceeded(node_id=node_id, activity_id=f"{RUN}::work::{node_id}")


def output(value: object, node_id: str = "a") -> ComponentSucceeded:
    activity = f"{RUN}::work::{node_id}"
    return ComponentSucceeded(activity_id=activity, attempt_id=f"{activity}::att-1", node_id=node_id, output=value)


def make_run(
    runs_dir: Path,
    run_id: str = RUN,
    *,
    workflow_id: str = "demo",
    now_ms: int = NOW,
    groups: Sequence[Sequence[Payload]] = (),
    durability: Durability = "relaxed",
) -> CreatedRun:
    """A created run, its lock held, with one flush for each of `groups`."""

    def first(inode: int) -> list[tuple[Actor, Payload]]:
        created = run_created(inode, workflow_id=workflow_id, durability=durability)
        return [("system", created), ("scheduler", RunStarted())]

    run = create_run(runs_dir, run_id, WORKFLOW_JSON, first, now_ms=now_ms, durability=durability)
    for group in groups:
        add_group(run.log, *group)
    return run


def add_group(log: EventLog, *payloads: Payload, now_ms: int = NOW) -> list[Event]:
    events = [log.add("scheduler", payload, now_ms) for payload in payloads]
    log.flush()
    return events


def finished_run(runs_dir: Path, *groups: Sequence[Payload], run_id: str = RUN) -> RunDirectory:
    """A run whose driver is gone, with one flush for each of `groups`."""
    run = make_run(runs_dir, run_id, groups=groups)
    run.log.close()
    run.lock.release()
    return run.directory


def events_of(directory: RunDirectory) -> list[Event]:
    return LogReader(directory.log).read_new()


def types_of(events: Sequence[Event]) -> list[str]:
    return [event.payload.type for event in events]
