"""The samples as they are: run here and now, they say what was recorded."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import CommandLine
from tests.golden.test_sample_runs import LOG_TRIAGE, REVIEW_LOOP, SAMPLES


def test_log_triage_says_the_same_today(tmp_path: Path) -> None:
    sample = SAMPLES / "log_triage"

    ended = CommandLine(tmp_path).hooks("run", str(sample / "workflow.yaml"), "-p", f"log={sample / 'access.log'}")

    assert ended.code == 0, ended.err
    assert {sink: output["sha256"] for sink, output in ended.document.items()} == {
        sink: output["sha256"] for sink, output in LOG_TRIAGE.output.items()
    }
    assert (tmp_path / "incidents.log").read_text() == (
        "incident: 18 of 3000 requests failed, most of them at /api/checkout\n"
    )


def test_log_triage_of_a_log_that_is_not_there_fails_and_writes_nothing(tmp_path: Path) -> None:
    """A pipe ends like its last command: the sample others copy must not hide that its first one found nothing."""
    ended = CommandLine(tmp_path).hooks("run", str(SAMPLES / "log_triage" / "workflow.yaml"), "-p", "log=nope")

    assert ended.code == 1
    assert "nope" in ended.err
    assert not (tmp_path / "triage.md").exists()


def test_release_notes_are_made_of_the_commits_of_the_repository_it_runs_in(tmp_path: Path) -> None:
    _commit(tmp_path, "Add a door", "Fix the door", "Paint it blue")

    ended = CommandLine(tmp_path).hooks("run", str(SAMPLES / "release_notes" / "workflow.yaml"))

    assert ended.code == 0, ended.err
    notes = (tmp_path / "NOTES.md").read_text()
    headings = [line for line in notes.splitlines() if line.startswith("#")]
    assert headings == ["## 3 changes", "### Added", "### Fixed", "### Changed"]
    assert [line.split(" (")[0] for line in notes.splitlines() if line.startswith("- ")] == [
        "- Add a door",
        "- Fix the door",
        "- Paint it blue",
    ]


def test_release_gate_drafts_until_it_is_liked_and_publishes_once(tmp_path: Path) -> None:
    for area, subject in (("core", "Add a door"), ("docs", "Describe the door")):
        (tmp_path / area).mkdir()
        (tmp_path / area / "changes").write_text(subject)
        _commit(tmp_path, subject)
    cli = CommandLine(tmp_path)

    def answered(*words: str) -> int:
        assert cli.hooks(*words).code == 0
        return cli.hooks("recover", "r", "-q").code

    started = cli.hooks("run", str(SAMPLES / "release_gate" / "workflow.yaml"), "--run-id", "r", "-p", "tag=v1")
    codes = [
        answered("reject", "r", "rounds.1/verdict", "--comment", "shorter"),
        answered("approve", "r", "rounds.2/verdict"),
        answered("approve", "r", "publish"),
    ]

    assert [started.code, *codes] == [4, 4, 4, 0], started.err
    assert (tmp_path / "ANNOUNCEMENT.md").read_text().splitlines() == [
        "**core**: 1 changes, the last one: Add a door",
        "",
        "**docs**: 1 changes, the last one: Describe the door",
    ]
    assert (tmp_path / ".git" / "refs" / "tags" / "v1").exists()


def test_a_workflow_of_an_older_engine_runs_unchanged_with_its_bots_and_executors_mapped(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "seed_style", tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("recorded"))
    cli = CommandLine(tmp_path)

    def answered(*words: str) -> int:
        assert cli.hooks(*words).code == 0
        return cli.hooks("recover", "r", "-q").code

    started = cli.hooks("run", "workflow.json", "--run-id", "r", "-p", "milestone=1.4")
    codes = [
        answered("reject", "r", "verdict", "--comment", "Say what it is about"),
        answered("approve", "r", "rounds.2/verdict"),
    ]
    unasked = cli.hooks("approve", "r", "publish", "--by", "somebody")
    published = list(tmp_path.glob("wiki/*"))
    codes.append(answered("approve", "r", "publish", "--by", "kim"))

    assert [started.code, *codes] == [4, 4, 4, 0], started.err
    assert (unasked.code, published) == (7, [])
    assert cli.hooks("show", "r", "--json").document["output"] == {"announce": {"delivered": True}}
    page = (tmp_path / "wiki" / "milestone-1-4.md").read_text().splitlines()
    assert page[:4] == ["# Milestone 1.4", "", "Say what it is about", "- Doors open inwards again"]
    (line,) = (tmp_path / "chat.log").read_text().splitlines()
    assert line.startswith("#releases New page: Milestone 1.4 (wiki/milestone-1-4.md) (wf_")


def test_a_review_is_repaired_judged_and_published_when_a_person_has_said_so_twice(tmp_path: Path) -> None:
    if shutil.which("jq") is None:
        pytest.skip("the policy of this sample needs jq")
    shutil.copytree(SAMPLES / "review_loop", tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("recorded"))
    cli = CommandLine(tmp_path)

    def answered(*words: str) -> int:
        assert cli.hooks(*words).code == 0
        return cli.hooks("recover", "r", "-q").code

    started = cli.hooks("run", "workflow.yaml", "--run-id", "r")
    codes = [
        answered("reject", "r", "verdict", "--comment", "Name the functions"),
        answered("approve", "r", "rounds.2/verdict"),
    ]
    unasked = (tmp_path / "REVIEW.md").exists()
    codes.append(answered("approve", "r", "publish"))

    assert [started.code, *codes] == [4, 4, 4, 0], started.err
    assert not unasked
    assert "draft: draw 2, after short-title: The title is longer than 40 characters.; useful: Name" in started.err
    assert (tmp_path / "REVIEW.md").read_text() == (
        "# Docstrings\n\ntotal lacks a docstring. with_tax lacks a docstring. (Name the functions)\n"
    )
    output = cli.hooks("show", "r", "--json").document["output"]
    assert output["publish"]["sha256"] == REVIEW_LOOP.output["publish"]["sha256"]


def _commit(repository: Path, *subjects: str) -> None:
    who = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, **who}
    subprocess.run(["git", "init", "--quiet"], cwd=repository, env=environment, check=True)
    for subject in subjects:
        subprocess.run(["git", "add", "."], cwd=repository, env=environment, check=True)
        commit = ["git", "commit", "--quiet", "--allow-empty", "--message", subject]
        subprocess.run(commit, cwd=repository, env=environment, check=True)
