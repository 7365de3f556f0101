"""The file executor: what it writes, what it refuses, and what the bytes on disk say afterwards."""

from __future__ import annotations

import asyncio
import hashlib
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.executors.builders import execute, make_call

from hooks.executors.base import Absent, CannotTell, EffectCall, Found, InputError, LookUp, Settled
from hooks.executors.file import FileExecutor

FILE = FileExecutor()


def digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def done(path: Path, content: str) -> Settled:
    return Settled("done", {"path": str(path), "bytes": len(content.encode()), "sha256": digest(content)})


def write(tmp_path: Path, content: str, mode: str = "write", path: str = "out.txt") -> Settled:
    return execute(FILE, tmp_path, {"path": path, "content": content, "mode": mode})


def code_of(settled: Settled) -> tuple[str, str]:
    assert settled.error is not None
    return settled.outcome, settled.error.error_code


def test_a_new_file_is_written_whole(tmp_path: Path) -> None:
    old_mask = os.umask(0o027)
    try:
        assert write(tmp_path, "ü\r\n") == done(tmp_path / "out.txt", "ü\r\n")
    finally:
        os.umask(old_mask)

    assert (tmp_path / "out.txt").read_bytes() == "ü\r\n".encode()
    assert (tmp_path / "out.txt").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("mode", ["write", "replace"])
def test_a_file_that_is_replaced_keeps_its_rights(tmp_path: Path, mode: str) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    target.chmod(0o751)

    assert write(tmp_path, "new", mode) == done(target, "new")
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o7777 == 0o751
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".attempt")] == ["out.txt"]


@pytest.mark.parametrize("mode", ["write", "append"])
@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed_and_stays_one(tmp_path: Path, mode: str, there: bool) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "target"
    if there:
        target.write_text("")
    (tmp_path / "out.txt").symlink_to("real/target")

    assert write(tmp_path, "new", mode) == done(tmp_path / "out.txt", "new")
    assert target.read_text() == "new"
    assert (tmp_path / "out.txt").is_symlink()


def test_replace_wants_a_file_to_be_there(tmp_path: Path) -> None:
    assert code_of(write(tmp_path, "x", "replace")) == ("not_done", "FileMissing")
    assert not (tmp_path / "out.txt").exists()


def test_append_adds_to_the_end_and_makes_the_file_if_need_be(tmp_path: Path) -> None:
    assert write(tmp_path, "one\n", "append") == done(tmp_path / "out.txt", "one\n")
    assert write(tmp_path, "two\n", "append") == done(tmp_path / "out.txt", "two\n")
    assert (tmp_path / "out.txt").read_text() == "one\ntwo\n"


def test_the_prepared_input_notes_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("before")
    call = make_call(FILE, tmp_path, {"path": "./out.txt", "content": 3, "mode": "append"})

    assert call.input == {
        "path": str(tmp_path / "out.txt"),
        "mode": "append",
        "content": "3",
        "prior_sha256": digest("before"),
        "offset": 6,
    }


@pytest.mark.parametrize("now", ["before and after", "", None])
def test_append_to_a_file_that_changed_since_writes_nothing(tmp_path: Path, now: str | None) -> None:
    target = tmp_path / "out.txt"
    target.write_text("before")
    call = make_call(FILE, tmp_path, {"path": "out.txt", "content": "x", "mode": "append"})
    target.unlink()
    if now is not None:
        target.write_text(now)

    assert code_of(asyncio.run(FILE.execute(call))) == ("not_done", "FileChanged")
    assert (target.read_text() if target.exists() else None) == now


@pytest.mark.parametrize("mode", ["write", "append"])
def test_what_is_no_file_any_more_is_neither_written_nor_waited_for(tmp_path: Path, mode: str) -> None:
    target = tmp_path / "out.txt"
    target.write_text("before")
    call = make_call(FILE, tmp_path, {"path": "out.txt", "content": "x", "mode": mode})
    target.unlink()
    os.mkfifo(target)

    settled = asyncio.run(FILE.execute(call))
    assert code_of(settled) == ("not_done", "EINVAL")
    assert settled.error is not None
    assert settled.error.error_message == f"Cannot write {target}: it is a FIFO, not a file; it is as before."
    assert look_up(call) == CannotTell(f"{target} is no regular file.")


@pytest.mark.parametrize("mode", ["write", "append"])
def test_a_missing_directory_is_named(tmp_path: Path, mode: str) -> None:
    settled = write(tmp_path, "x", mode, path="no/such/out.txt")

    assert code_of(settled) == ("not_done", "DirectoryMissing")
    assert settled.error is not None
    assert str(tmp_path / "no/such") in settled.error.error_message


@pytest.mark.parametrize(
    ("resolved_input", "place"),
    [
        ({"content": "x"}, r"input\.path is missing"),
        ({"path": "x"}, r"input\.content is missing"),
        ({"path": "", "content": "x"}, r"input\.path"),
        ({"path": ".", "content": "x"}, r"input\.path: .* is a directory"),
        ({"path": "new/", "content": "x"}, r"input\.path: 'new/' names no file"),
        ({"path": "/dev/null", "content": "x"}, r"input\.path: .*no regular file"),
        ({"path": "a\0b", "content": "x"}, r"input\.path.*NUL"),
        ({"path": "x", "content": {"a": 1}}, r"input\.content: an object"),
        ({"path": "x", "content": "\udcff"}, r"surrogate"),
        ({"path": "x", "content": "x", "mode": "w"}, r"input\.mode: 'w' is none of write, replace, append"),
        ({"path": "x", "content": "x", "encoding": "x"}, r"input\.encoding: unknown"),
        ({"path": "x" * 300, "content": "x"}, r"input\.path: cannot read"),
    ],
)
def test_an_input_that_cannot_be_performed_names_the_place(
    tmp_path: Path, resolved_input: dict[str, Any], place: str
) -> None:
    with pytest.raises(InputError, match=place):
        FILE.prepare(resolved_input, working_directory=tmp_path, workflow_directory=tmp_path)


@contextmanager
def no_file_longer_than(limit: int) -> Iterator[None]:
    """A full disk, as far as the writer can see: a write is cut short, the next one fails."""
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.parametrize("mode", ["write", "replace", "append"])
def test_what_does_not_fit_leaves_the_file_as_it_was(tmp_path: Path, mode: str) -> None:
    (tmp_path / "out.txt").write_text("before")

    with no_file_longer_than(10):
        settled = write(tmp_path, "x" * 100, mode)

    assert settled.outcome == "not_done"
    assert settled.error is not None
    assert settled.error.error_class == "retryable"
    assert (tmp_path / "out.txt").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".attempt")] == ["out.txt"]


def test_what_does_not_fit_into_a_new_file_makes_none(tmp_path: Path) -> None:
    with no_file_longer_than(10):
        outcomes = [write(tmp_path, "x" * 100, mode).outcome for mode in ("write", "append")]

    assert outcomes == ["not_done", "not_done"]
    assert not (tmp_path / "out.txt").exists()


def look_up(call: EffectCall) -> LookUp:
    return asyncio.run(FILE.look_up(call))


def look_ups(call: EffectCall, *contents: str | None) -> list[type[LookUp]]:
    """What a look-up says for each content of the file (None: no file)."""
    path = Path(call.input["path"])
    said: list[type[LookUp]] = []
    for content in contents:
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_text(content)
        said.append(type(look_up(call)))
    return said


def test_the_bytes_on_disk_say_whether_an_append_happened(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("old\n")
    call = make_call(FILE, tmp_path, {"path": "out.txt", "content": "new\n", "mode": "append"})

    assert look_ups(call, "old\n", "old\nnew\n", "old\nnew\nmore\n") == [Absent, Found, Found]
    assert look_ups(call, "old\nne", "old\nother", "odd\nnew\n", "ol", "", None) == [CannotTell] * 6


def test_the_bytes_on_disk_say_whether_a_new_file_was_appended_to(tmp_path: Path) -> None:
    call = make_call(FILE, tmp_path, {"path": "out.txt", "content": "new\n", "mode": "append"})

    assert look_ups(call, None, "", "new\n", "ne") == [Absent, Absent, Found, CannotTell]


def test_the_bytes_on_disk_say_whether_a_whole_write_happened(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("old")
    call = make_call(FILE, tmp_path, {"path": "out.txt", "content": "new"})

    assert look_ups(call, "old", "new", "other", None) == [Absent, Found, CannotTell, CannotTell]


def test_a_look_up_answers_as_the_call_would_have(tmp_path: Path) -> None:
    call = make_call(FILE, tmp_path, {"path": "out.txt", "content": "new"})
    (tmp_path / "out.txt").write_text("new")

    settled = done(tmp_path / "out.txt", "new")
    assert look_up(call) == Found(settled, evidence=settled.output)


def test_a_file_that_is_a_directory_now_tells_nothing(tmp_path: Path) -> None:
    call = make_call(FILE, tmp_path, {"path": "out.txt", "content": "new"})
    (tmp_path / "out.txt").mkdir()

    assert look_up(call) == CannotTell(f"{tmp_path}/out.txt is a directory; name a file in it.")


def test_content_whose_secret_was_not_filled_in_is_not_written(tmp_path: Path) -> None:
    settled = execute(FILE, tmp_path, {"path": "out.txt", "content": {"$secret": "${TOKEN}"}})

    assert settled.outcome == "not_done"
    assert not (tmp_path / "out.txt").exists()


def test_a_write_that_is_cancelled_is_written_to_its_end(tmp_path: Path) -> None:
    call = make_call(FILE, tmp_path, {"path": "out.txt", "content": "x" * 1_000_000})

    async def scenario() -> None:
        writing = asyncio.create_task(FILE.execute(call))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        found = await FILE.look_up(call)
        assert isinstance(found, Found)
        assert found.settled == done(tmp_path / "out.txt", "x" * 1_000_000)

    asyncio.run(scenario())
