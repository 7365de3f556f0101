"""The recorded runs of the samples: runs of an earlier day must stay readable, whole, and mean the same.

A change of the log's format that breaks one of these breaks the runs on users' disks.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hooks import RunDirectory, RunView, load_workflow, read_events, read_run, verify_run
from hooks.definition.model import revision_id, workflow_to_json
from hooks.events.payloads import SamplingIteration, WaitResolved
from hooks.ids import NodeId

SAMPLES = Path(__file__).parents[2] / "sample_runs"


@dataclass(frozen=True)
class Golden:
    """What a recorded run says."""

    sample: str
    run_id: str
    events: int
    output: dict[str, Any]
    name: str = ""
    """Of its directory, where it is not that of the run."""

    @property
    def directory(self) -> RunDirectory:
        return RunDirectory(SAMPLES / self.sample / "recorded" / (self.name or self.run_id))

    def __str__(self) -> str:
        return self.directory.path.name


RELEASE_NOTES = Golden(
    "release_notes",
    "release-notes-sample",
    24,
    {
        "publish": {
            "path": "/srv/sample/project/NOTES.md",
            "bytes": 315,
            "sha256": "adb29ea20bb2e90c9048f879691e48622d25f711fb02d085c868fef7af53f529",
        }
    },
)
LOG_TRIAGE = Golden(
    "log_triage",
    "log-triage-sample",
    43,
    {
        "report": {
            "path": "/srv/sample/project/triage.md",
            "bytes": 383,
            "sha256": "13b18e870470e269688b06c92168407e0965ab5d5f505a18f8b793c7facd59d0",
        },
        "incident": {
            "path": "/srv/sample/project/incidents.log",
            "bytes": 68,
            "sha256": "9f9054e7ab0f922e12b508a1c6022acd1d810e164c46938f00888214b371b0c8",
        },
    },
)
RELEASE_GATE = Golden(
    "release_gate",
    "release-gate-sample",
    69,
    {"tag": {"stdout": "", "exit_code": 0, "stdout_bytes": 0, "truncated": False}},
)
MILESTONE_PAGE = Golden("seed_style", "milestone-page-sample", 64, {"announce": {"delivered": True}})
REVIEW_LOOP = Golden(
    "review_loop",
    "review-loop-sample",
    120,
    {
        "publish": {
            "path": "/srv/sample/review_loop/REVIEW.md",
            "bytes": 88,
            "sha256": "b132b9b97719c42f6b1266c70a3999098479a92648b843445ca194dfbe0d3b97",
        }
    },
)
EARLIER_RELEASE_NOTES = replace(RELEASE_NOTES, name="release-notes-0.1")
"""Made before there were gates, loops and retries: what logs have gained since is not in it."""
_OF_ONE_FILE = [RELEASE_NOTES, LOG_TRIAGE, RELEASE_GATE, EARLIER_RELEASE_NOTES]
GOLDEN = pytest.mark.parametrize("golden", [*_OF_ONE_FILE, MILESTONE_PAGE, REVIEW_LOOP], ids=str)


@GOLDEN
def test_a_recorded_run_folds_to_what_it_was(golden: Golden) -> None:
    view = read_run(golden.directory)

    assert (view.run_id, view.status.status, view.state.seq) == (golden.run_id, "succeeded", golden.events)
    assert {node.status for node in view.state.root.nodes.values()} == {"succeeded"}
    assert view.output() == golden.output


@GOLDEN
def test_a_recorded_run_is_intact_wherever_it_lies(golden: Golden, tmp_path: Path) -> None:
    copy = shutil.copytree(golden.directory.path, tmp_path / "elsewhere")

    assert verify_run(golden.directory) == []
    assert verify_run(RunDirectory(copy)) == []


@pytest.mark.parametrize("golden", _OF_ONE_FILE, ids=str)
def test_a_recorded_run_is_of_the_workflow_that_lies_beside_it(golden: Golden) -> None:
    """Without a config: what comes from one says where it lay."""
    workflow = load_workflow(SAMPLES / golden.sample / "workflow.yaml")
    created = read_run(golden.directory).state.created

    assert created is not None
    assert created.revision_id == revision_id(workflow_to_json(workflow))


@GOLDEN
def test_every_event_type_of_a_recorded_run_survives_being_written_again(golden: Golden) -> None:
    for event in read_events(golden.directory):
        form = msgspec.to_builtins(event.payload)
        assert msgspec.convert(form, type(event.payload)) == event.payload


def test_the_recorded_release_had_two_rounds_and_three_answers() -> None:
    answers = [
        event.payload for event in read_events(RELEASE_GATE.directory) if isinstance(event.payload, WaitResolved)
    ]

    assert read_run(RELEASE_GATE.directory).state.root.nodes[NodeId("rounds")].rounds == 2
    assert [(answer.approved, answer.by, answer.comment) for answer in answers] == [
        (False, "alex", "Make it shorter, please"),
        (True, "alex", ""),
        (True, "alex", "Go"),
    ]


def test_the_recorded_review_had_each_first_answer_refused_and_repaired() -> None:
    drawn = [
        (event.payload.activity_id.removeprefix("review-loop-sample::"), event.payload.draw, event.payload.passed)
        for event in read_events(REVIEW_LOOP.directory)
        if isinstance(event.payload, SamplingIteration)
    ]

    assert sorted(drawn) == [
        (place, draw, draw == 2)
        for place in ("loop::rounds.1::work::draft", "loop::rounds.2::work::draft", "work::notes[0]", "work::notes[1]")
        for draw in (1, 2)
    ]


def test_the_recorded_triage_has_its_large_values_in_blobs() -> None:
    view = read_run(LOG_TRIAGE.directory)
    lines = _output(view, "refused")["stdout"].splitlines()

    assert len(list(view.directory.blobs.iterdir())) >= 2
    assert len(lines) == 170
    assert all('" 404 ' in line for line in lines)


def _output(view: RunView, node: str) -> Any:
    activity = view.state.root.nodes[NodeId(node)].activity
    assert activity is not None
    return view.blobs.resolve(activity.output)
