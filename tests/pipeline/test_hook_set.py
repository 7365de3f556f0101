"""What a run pins of its hooks, and how a later driver finds them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hooks.definition.model import HookEntry, HookMatch
from hooks.errors import DefinitionError
from hooks.kernel.hook_set import next_hook_set
from hooks.pipeline.hook_set import HookSetNow, hook_set_digest, hook_set_now, refresh_hook_set, resolve_hook_set
from tests.pipeline.builders import HookFiles


def test_the_order_is_priority_then_scope_then_position(files: HookFiles) -> None:
    entries = [
        files.entry("flag", argv=["true"], origin="flag"),
        files.entry("workflow-1", argv=["true"], origin="workflow"),
        files.entry("workflow-2", argv=["true"], origin="workflow"),
        files.entry("early", argv=["true"], origin="flag", priority=10),
        files.entry("node", argv=["true"], origin="node", node_id="draft"),
        files.entry("user", argv=["true"], origin="user"),
        files.entry("project", argv=["true"], origin="project", priority=50),
        files.entry("late", argv=["true"], origin="user", priority=51),
    ]

    assert [member.name for member in resolve_hook_set(entries)] == [
        "early",
        "user",
        "project",
        "workflow-1",
        "workflow-2",
        "node",
        "flag",
        "late",
    ]


def test_a_member_has_its_whole_declaration_and_its_file(files: HookFiles) -> None:
    entry = files.command("exit 0", match=HookMatch(node=["d*"]), timeout_ms=100)

    (member,) = resolve_hook_set([entry])

    assert (member.name, member.origin, member.declared_in) == ("policy", "workflow", entry.declared_in)
    assert member.file == str(files.directory / "policy.sh")
    assert msgspec.convert(member.entry, type(entry)) == entry


def test_every_entry_that_cannot_be_used_is_named(files: HookFiles) -> None:
    entries = [
        files.entry("gone", argv=["./gone.sh"]),
        files.entry("lost", python="lost.py:f"),
        files.entry("early", on="component_pre", argv=["true"]),
        files.entry("quiet", on="run_finished", argv=["true"], mode="transform"),
        files.entry("behind", argv=["python3", "behind.py"]),
        files.entry("empty"),
        files.entry("fine", argv=["no-such-command-but-that-is-known-only-when-it-is-run"]),
    ]

    with pytest.raises(DefinitionError) as raised:
        resolve_hook_set(entries)

    assert [problem.message for problem in raised.value.problems] == [
        f"hook gone: there is no file {files.directory / 'gone.sh'}",
        f"hook lost: there is no file {files.directory / 'lost.py'}",
        "hook early: unknown hook point `component_pre`",
        "hook quiet: hooks of `run_finished` only look on: `transform` is not possible there",
        f"hook behind: there is no file {files.directory / 'behind.py'}",
        "hook empty has neither `argv` nor `python`",
    ]
    assert raised.value.problems[0].place is not None
    assert raised.value.problems[0].place.file == str(files.directory / "workflow.yaml")


def test_the_digest_tells_declaration_and_file_and_not_where_they_are(files: HookFiles, tmp_path: Path) -> None:
    entry = files.command("exit 0")
    moved = HookFiles(tmp_path / "moved")
    moved.directory.mkdir()
    shutil.copy(files.directory / "policy.sh", moved.directory)
    (before,) = resolve_hook_set([entry])

    (elsewhere,) = resolve_hook_set(
        [msgspec.structs.replace(entry, declared_in=str(moved.directory / "workflow.yaml"))]
    )
    (ignoring,) = resolve_hook_set([msgspec.structs.replace(entry, on_error="ignore")])
    files.script("policy.sh", "exit 1")
    (edited,) = resolve_hook_set([entry])

    assert elsewhere.digest == before.digest
    assert len({before.digest, ignoring.digest, edited.digest}) == 3
    assert hook_set_digest([before]) != hook_set_digest([edited])
    assert hook_set_digest([before, edited]) != hook_set_digest([edited, before])


def test_a_later_driver_is_told_what_has_changed_and_what_is_missing(files: HookFiles) -> None:
    names = ("same", "edited", "gone")
    members = resolve_hook_set([files.command("exit 0", name) for name in names])
    files.command("exit 1", "edited")
    (files.directory / "gone.sh").unlink()

    current, changed = refresh_hook_set(members)

    assert [member.name for member in current] == list(names)
    assert [member.digest == before.digest for member, before in zip(current, members, strict=True)] == [
        True,
        False,
        True,
    ]
    assert [(change.after.name, change.missing) for change in changed] == [("edited", False), ("gone", True)]
    assert refresh_hook_set(current)[1] == [changed[1]]


# ---- what a later driver makes of it ---------------------------------------------------------------------------------


def guard_in(files: HookFiles, script: str, **fields: Any) -> HookEntry:
    return files.entry("guard", argv=[files.script(script, "exit 0")], **fields)


def names(now: HookSetNow) -> dict[str, list[str]]:
    return {
        "members": [member.name for member in now.members],
        "changed": [member.name for member in now.changed],
        "added": [member.name for member in now.added],
    }


def test_what_is_configured_as_it_was_changes_nothing(files: HookFiles) -> None:
    entries = [files.command("exit 0", "a", origin="user"), files.entry("b", argv=["jq", "."], origin="flag")]
    pinned = resolve_hook_set([*entries, files.command("exit 0", "c")])

    assert hook_set_now(pinned, entries) == HookSetNow(pinned, [], [], [])


def test_what_was_configured_since_takes_its_place_in_the_order(files: HookFiles) -> None:
    pinned = resolve_hook_set(
        [files.entry("user", argv=["true"], origin="user"), files.entry("workflow", argv=["true"])]
    )
    configured = [
        files.entry("flag", argv=["true"], origin="flag"),
        files.entry("project", argv=["true"], origin="project"),
        files.entry("first", argv=["true"], origin="flag", priority=1),
        files.entry("user-too", argv=["true"], origin="user"),
    ]

    now = hook_set_now(pinned, configured)

    assert names(now) == {
        "members": ["first", "user", "user-too", "project", "workflow", "flag"],
        "changed": [],
        "added": ["first", "user-too", "project", "flag"],
    }
    assert next_hook_set(pinned, now.changed, now.added) == now.members
    assert hook_set_now(now.members, configured) == HookSetNow(now.members, [], [], [])


def test_a_name_means_another_hook_in_another_scope(files: HookFiles) -> None:
    pinned = resolve_hook_set([files.entry("guard", argv=["true"], origin="workflow")])

    assert names(hook_set_now(pinned, [files.entry("guard", argv=["false"], origin="project")]))["added"] == ["guard"]


def test_hooks_of_one_name_from_several_files_are_told_apart_by_their_order(files: HookFiles) -> None:
    entries = [guard_in(files, f"guard-{number}.sh", origin="flag") for number in (0, 1)]
    pinned = resolve_hook_set(entries)
    files.script("guard-1.sh", "exit 2")

    now = hook_set_now(pinned, list(reversed(entries)))

    assert [member.file for member in now.members] == [member.file for member in pinned]
    assert [a.digest == b.digest for a, b in zip(now.members, pinned, strict=True)] == [True, False]
    assert next_hook_set(pinned, now.changed, now.added) == now.members


def test_an_edited_declaration_takes_the_place_only_of_a_hook_whose_file_is_gone(files: HookFiles) -> None:
    (pinned,) = resolve_hook_set([guard_in(files, "old.sh", origin="project")])
    edited = guard_in(files, "new.sh", origin="project")

    kept = hook_set_now([pinned], [edited])
    (files.directory / "old.sh").unlink()
    moved = hook_set_now([pinned], [edited])

    assert (kept.members, len(kept.notes)) == ([pinned], 1)
    assert [member.file for member in moved.changed] == [str(files.directory / "new.sh")]
    assert (moved.members, moved.notes) == (moved.changed, [])


def test_a_missing_file_is_told_and_only_that_of_a_flag_is_refused(files: HookFiles) -> None:
    now = hook_set_now([], [files.entry("guard", argv=["./gone.sh"], origin="project")])

    assert names(now)["added"] == ["guard"]
    assert now.notes == [
        f"hook guard ({files.directory}/workflow.yaml): there is no file {files.directory}/gone.sh; "
        "it fails where it is asked"
    ]
    with pytest.raises(DefinitionError, match="there is no file"):
        hook_set_now([], [files.entry("guard", argv=["./gone.sh"], origin="flag")])
    with pytest.raises(DefinitionError, match="unknown hook point"):
        hook_set_now([], [files.entry("guard", on="effect_pre", argv=["true"], origin="project")])
