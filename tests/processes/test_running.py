"""A command runs to its end, and a cancelled one leaves no process behind."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.processes.builders import alive, make_child, shell, until

from hooks.errors import StorageError
from hooks.processes.exits import Exit, read_exit
from hooks.processes.launch import LAUNCHER, Child, CouldNotStartError
from hooks.processes.process_table import find_tree
from hooks.processes.running import run_child
from hooks.secrets import Masker


def run(child: Child, grace_ms: int = 5_000) -> Exit:
    return asyncio.run(run_child(child, grace_ms=grace_ms))


async def cancel_when(child: Child, ready: Path, grace_ms: int = 10_000, times: int = 1) -> None:
    """Start the child, wait for its sign of life, cancel; return when the cancellation has come through."""
    running = asyncio.create_task(run_child(child, grace_ms=grace_ms))
    await until(ready.exists)
    for _ in range(times):
        running.cancel()
        await asyncio.sleep(0.02)
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize("code", [0, 1, 7, 126, 127, 128, 255])
def test_an_exit_code_is_told_and_written_down(tmp_path: Path, code: int) -> None:
    child = shell(tmp_path, f"exit {code}")

    assert run(child) == Exit(code=code)
    assert read_exit(child.directory) == Exit(code=code)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGPIPE])
def test_a_death_by_signal_is_told_and_written_down(tmp_path: Path, number: signal.Signals) -> None:
    child = shell(tmp_path, f"ulimit -c 0; kill -{int(number)} $$")

    assert run(child) == Exit(signal=number)
    assert (child.directory / "exit.json").read_text() == f'{{"signal":{int(number)}}}\n'


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGCHLD])
def test_an_exit_code_that_looks_like_a_death_by_signal_is_an_exit_code(tmp_path: Path, number: signal.Signals) -> None:
    child = shell(tmp_path, f"exit {128 + int(number)}")

    assert run(child) == Exit(code=128 + int(number))
    assert read_exit(child.directory) == Exit(code=128 + int(number))


def test_where_the_shell_tells_no_difference_a_death_is_assumed(tmp_path: Path) -> None:
    """A shell says nothing of a child that died of INT: the careful reading."""
    child = shell(tmp_path, f"exit {128 + int(signal.SIGINT)}")

    assert run(child) == Exit(signal=signal.SIGINT)


@pytest.mark.parametrize("thing", ["exit.json", "stdout", "stderr"])
def test_a_fifo_that_a_command_puts_into_its_directory_holds_up_nobody(tmp_path: Path, thing: str) -> None:
    child = shell(tmp_path, "rm -f $HOOKS_MARKER/$0; mkfifo $HOOKS_MARKER/$0; exit 7")
    child = replace(child, argv=[*child.argv, thing], masker=Masker({"TOKEN": "s3cret-value"}))

    assert run(child) == Exit(code=7)


def test_a_command_that_removes_its_directory_has_ended_as_it_ended(tmp_path: Path) -> None:
    child = replace(shell(tmp_path, "rm -r $HOOKS_MARKER; exit 7"), masker=Masker({"TOKEN": "s3cret-value"}))

    assert run(child) == Exit(code=7)


def test_a_killed_launcher_is_a_death_by_signal(tmp_path: Path) -> None:
    child = shell(tmp_path, "kill -9 $PPID; sleep 9999")

    assert run(child).signal == signal.SIGKILL
    assert alive(child.marker) == []
    assert read_exit(child.directory) is None


def test_stdin_argv_environment_and_directory_reach_the_command(tmp_path: Path) -> None:
    where = tmp_path / "deep ä"
    where.mkdir()
    child = make_child(
        tmp_path,
        sys.executable,
        "-c",
        "import json, os, sys; print(json.dumps([sys.argv[1:], sys.stdin.read(), os.getcwd(), dict(os.environ)]))",
        "",
        "two words",
        "$(touch pwned) 'ü'\n",
        stdin="prompt ☃".encode(),
        environment={"PATH": os.environ["PATH"], "odd.name": "x=y", "BASH_FUNC_f%%": "() { :; }", "LC_ALL": "C.UTF-8"},
        working_directory=where,
    )

    assert run(child) == Exit(code=0)
    argv, stdin, directory, environment = json.loads((child.directory / "stdout").read_bytes())
    assert argv == ["", "two words", "$(touch pwned) 'ü'\n"]
    assert (stdin, directory) == ("prompt ☃", str(where))
    assert environment.pop("PWD", str(where)) == str(where)
    assert environment == {**child.environment, "HOOKS_MARKER": child.marker}


def test_without_input_stdin_is_at_its_end(tmp_path: Path) -> None:
    assert run(make_child(tmp_path, "cat")) == Exit(code=0)


def test_a_name_that_is_a_shell_builtin_runs_the_program(tmp_path: Path) -> None:
    child = make_child(tmp_path, "echo", "-n", "x")

    assert run(child) == Exit(code=0)
    assert (child.directory / "stdout").read_bytes() == b"x"


def test_stderr_holds_the_bytes_of_the_command_alone(tmp_path: Path) -> None:
    child = shell(tmp_path, "printf oops >&2; kill -9 $$")

    run(child)
    assert (child.directory / "stderr").read_bytes() == b"oops"


def test_files_of_an_attempt_are_for_its_owner(tmp_path: Path) -> None:
    child = make_child(tmp_path, "cat", stdin=b"secret")

    run(child)
    modes = {path.name: path.stat().st_mode & 0o777 for path in child.directory.iterdir()}
    assert modes == dict.fromkeys(["stdout", "stderr", "exit.json"], 0o600)


@pytest.mark.parametrize("code", [0, 2, 7])
def test_a_command_whose_end_cannot_be_written_down_is_run_all_the_same(tmp_path: Path, code: int) -> None:
    """Only a later driver cannot know then. A directory that is gone stands for the disk that is full."""
    ended = subprocess.run(
        ["/bin/sh", "-c", LAUNCHER, "launcher", tmp_path / "gone", "sh", "-c", f"echo said >&2; exit {code}"],
        capture_output=True,
        check=False,
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (code, b"", b"said\n")


def test_a_second_start_in_a_directory_forgets_the_first(tmp_path: Path) -> None:
    child = shell(tmp_path, "echo once; test ! -e $0")
    run(child)
    (child.directory / "exit.json").write_text('{"exitCode":99}')

    assert run(child).code is not None
    assert (child.directory / "stdout").read_text() == "once\n"
    assert read_exit(child.directory) != Exit(code=99)


def test_a_background_child_that_was_left_is_ended_and_named(tmp_path: Path) -> None:
    """B22"""
    child = shell(tmp_path, "(sleep 60 &); echo {}")

    ended = run(child)
    assert ended.code == 0
    assert len(ended.leaked) == 1
    assert alive(child.marker) == []


def test_a_leaked_child_that_ignores_term_is_killed(tmp_path: Path) -> None:
    child = shell(tmp_path, "(trap '' TERM; touch ready; sleep 60; sleep 60) & while [ ! -e ready ]; do :; done")

    assert run(child).leaked
    assert alive(child.marker) == []


def test_a_daemon_in_a_session_of_its_own_is_meant_to_stay(tmp_path: Path) -> None:
    child = shell(tmp_path, "setsid -f sleep 60")

    try:
        assert run(child) == Exit(code=0)
    finally:
        daemons = find_tree(child.marker)
        for process in daemons:
            os.kill(process.pid, signal.SIGKILL)
    assert len(daemons) == 1


def test_cancel_ends_the_whole_tree(tmp_path: Path) -> None:
    """B18"""
    child = shell(tmp_path, "sleep 9999 & touch ready; sleep 9999")

    asyncio.run(cancel_when(child, tmp_path / "ready"))
    assert alive(child.marker) == []


def test_a_cancelled_command_may_clean_up(tmp_path: Path) -> None:
    """B20"""
    child = shell(tmp_path, "trap 'rm -f ready; echo bye; exit 0' TERM; touch ready; while :; do sleep 0.01; done")

    asyncio.run(cancel_when(child, tmp_path / "ready"))
    assert not (tmp_path / "ready").exists()
    assert (child.directory / "stdout").read_text() == "bye\n"


def test_a_command_that_ignores_term_is_killed_after_its_grace(tmp_path: Path) -> None:
    child = shell(tmp_path, "trap '' TERM; touch ready; while :; do sleep 0.01; done")

    asyncio.run(cancel_when(child, tmp_path / "ready", grace_ms=50))
    assert alive(child.marker) == []


def test_a_second_cancellation_skips_the_grace(tmp_path: Path) -> None:
    child = shell(tmp_path, "trap '' TERM; touch ready; while :; do sleep 0.01; done")

    async def bounded() -> None:
        async with asyncio.timeout(60):
            await cancel_when(child, tmp_path / "ready", grace_ms=3_600_000, times=2)

    asyncio.run(bounded())
    assert alive(child.marker) == []


@pytest.mark.parametrize("escape", ["setsid -f", "env -i PATH=/usr/bin:/bin setsid"])
def test_cancel_finds_what_went_into_another_session(tmp_path: Path, escape: str) -> None:
    """By the marker; without the environment still as a descendant."""
    child = shell(tmp_path, f"{escape} bash -c 'echo $$ >pid; exec sleep 9999' & sleep 9999")

    async def scenario() -> None:
        await cancel_when(child, tmp_path / "pid")

    asyncio.run(scenario())
    escaped = int((tmp_path / "pid").read_text() or 0)
    assert alive(child.marker) == []
    assert not any(process.pid == escaped for process in find_tree(child.marker))
    assert not Path(f"/proc/{escaped}/exe").exists()


def test_a_script_that_waits_for_its_child_is_told_in_one_stroke_with_it(tmp_path: Path) -> None:
    """B20. Told after its child, it would start the next one, and never come to its trap."""
    script = "trap 'touch cleaned-$0; exit' TERM; touch ready-$0; while :; do sleep 9999; done"
    children = [shell(tmp_path, script) for _ in range(16)]
    children = [replace(child, argv=[*child.argv, str(number)]) for number, child in enumerate(children)]

    async def scenario() -> None:
        await asyncio.gather(
            *(cancel_when(child, tmp_path / f"ready-{number}") for number, child in enumerate(children))
        )

    asyncio.run(scenario())
    assert len(list(tmp_path.glob("cleaned-*"))) == len(children)


def test_a_stopped_command_can_be_cancelled(tmp_path: Path) -> None:
    child = shell(tmp_path, "trap 'touch cleaned; exit' TERM; touch ready; kill -STOP $$; sleep 9999")

    asyncio.run(cancel_when(child, tmp_path / "ready"))
    assert alive(child.marker) == []
    assert (tmp_path / "cleaned").exists()


def test_a_timeout_of_the_caller_is_a_timeout(tmp_path: Path) -> None:
    child = shell(tmp_path, "sleep 9999")

    async def scenario() -> None:
        async with asyncio.timeout(0.05):
            await run_child(child, grace_ms=5_000)

    with pytest.raises(TimeoutError):
        asyncio.run(scenario())
    assert alive(child.marker) == []


@pytest.mark.parametrize("argv", [["no-such-program"], ["./missing"], [""], ["a\0b"], ["true", "a\0b"]])
def test_what_cannot_be_started_says_why(tmp_path: Path, argv: list[str]) -> None:
    child = make_child(tmp_path, *argv)

    with pytest.raises(CouldNotStartError, match="Could not start"):
        run(child)
    assert read_exit(child.directory) is None


def test_a_missing_program_is_named_with_its_path(tmp_path: Path) -> None:
    child = make_child(tmp_path, "gti", environment={"PATH": "/nowhere:/bin"})

    with pytest.raises(CouldNotStartError, match=r"'gti': no such program in PATH \(/nowhere:/bin\)"):
        run(child)


def test_a_file_that_is_not_executable_and_a_missing_interpreter_are_named(tmp_path: Path) -> None:
    script = tmp_path / "step"
    script.write_text("#!/no/such/sh\n")
    with pytest.raises(CouldNotStartError, match="not executable"):
        run(make_child(tmp_path, "./step"))

    script.chmod(0o700)
    with pytest.raises(CouldNotStartError, match="'/no/such/sh'"):
        run(make_child(tmp_path, "./step"))


@pytest.mark.parametrize("program", ["true", "./step", "/bin/true", "no-such-program"])
def test_a_missing_working_directory_is_named(tmp_path: Path, program: str) -> None:
    child = make_child(tmp_path, program, working_directory=tmp_path / "gone")

    with pytest.raises(CouldNotStartError, match=r"no working directory .*gone"):
        run(child)


def test_a_program_that_is_a_directory_is_named_as_one(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()

    with pytest.raises(CouldNotStartError, match=r"'./tools': .*tools is a directory; name a program in it"):
        run(make_child(tmp_path, "./tools"))


def test_a_value_too_large_for_argv_is_told_with_size_and_fix(tmp_path: Path) -> None:
    with pytest.raises(CouldNotStartError, match=r"argv\[1\] alone 200000.*stdin or in a file"):
        run(make_child(tmp_path, "true", "x" * 200_000))


def test_many_at_once_and_in_a_row_leave_nothing(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = set(os.listdir("/proc/self/fd"))

    async def scenario() -> None:
        children = [shell(tmp_path, "read line; exit ${line}", stdin=b"%d\n" % number) for number in range(64)]
        ended = await asyncio.gather(*(run_child(child, grace_ms=1_000) for child in children))
        assert [exit.code for exit in ended] == list(range(64))
        for _ in range(100):
            assert (await run_child(make_child(tmp_path, "true"), grace_ms=1_000)) == Exit(code=0)

    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        asyncio.run(scenario())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert set(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):  # no child is left, not even as a zombie
        os.waitpid(-1, os.WNOHANG)


def test_without_descriptors_it_starts_whole_or_not_at_all(tmp_path: Path) -> None:
    """EMFILE at any point: a clean error, or a child that is waited for all the same."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def start_with(spare: int) -> Exit | StorageError:
        child = make_child(tmp_path, "true")
        highest = max(map(int, os.listdir("/proc/self/fd")))
        held = [os.open("/dev/null", os.O_RDONLY) for _ in range(highest)]
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(held) + 1, hard))
        for descriptor in held[:spare]:
            os.close(descriptor)
        try:
            return await run_child(child, grace_ms=1_000)
        except StorageError as error:
            return error
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for descriptor in held[spare:]:
                os.close(descriptor)

    outcomes = [asyncio.run(start_with(spare)) for spare in range(8)]

    errors = [outcome for outcome in outcomes if isinstance(outcome, StorageError)]
    assert len(errors) > 1
    assert all("too many open files" in str(error).lower() for error in errors)
    assert outcomes[len(errors) :] == [Exit(code=0)] * (8 - len(errors))
    assert len(errors) < 8


def test_where_the_starter_ignores_sigchld_the_outcome_is_still_known(tmp_path: Path) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        ended = run(shell(tmp_path, "exit 3"))
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    assert ended == Exit(code=3)


def test_the_kill_is_announced_once_and_before_it_comes(tmp_path: Path) -> None:
    """B20"""
    child = shell(tmp_path, "trap '' TERM; touch ready; sleep 9999 & while :; do sleep 0.01; done")
    announced: list[bool] = []

    async def scenario() -> None:
        running = asyncio.create_task(
            run_child(child, grace_ms=50, on_kill=lambda: announced.append(bool(alive(child.marker))))
        )
        await until((tmp_path / "ready").exists)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(scenario())
    assert announced == [True]


def test_what_ends_within_its_grace_is_not_announced_as_killed(tmp_path: Path) -> None:
    child = shell(tmp_path, "touch ready; sleep 9999")
    announced: list[int] = []

    async def scenario() -> None:
        running = asyncio.create_task(run_child(child, grace_ms=20_000, on_kill=lambda: announced.append(1)))
        await until((tmp_path / "ready").exists)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(scenario())
    assert announced == []


def test_many_cancelled_at_once_leave_nothing(tmp_path: Path) -> None:
    """B18. They share their looks at the process table."""
    children = [shell(tmp_path, "sleep 9999 & touch $HOOKS_MARKER.ready; sleep 9999") for _ in range(32)]

    async def scenario() -> None:
        running = [asyncio.create_task(run_child(child, grace_ms=20_000)) for child in children]
        await until(lambda: all((tmp_path / f"{child.marker}.ready").exists() for child in children))
        for task in running:
            task.cancel()
        ended = await asyncio.gather(*running, return_exceptions=True)
        assert [type(end) for end in ended] == [asyncio.CancelledError] * len(children)

    asyncio.run(scenario())
    assert [child for child in children if alive(child.marker)] == []


def test_stdin_leaves_nothing_on_disk(tmp_path: Path) -> None:
    child = make_child(tmp_path, "cat", stdin=b"a secret of the step")

    run(child)
    assert [path.name for path in child.directory.iterdir() if b"secret" in path.read_bytes()] == ["stdout"]


def test_secrets_are_masked_in_what_was_printed(tmp_path: Path) -> None:
    masker = Masker({"TOKEN": "s3cret-value"})
    child = replace(shell(tmp_path, "echo a s3cret-value; echo s3cret-value >&2"), masker=masker)

    assert run(child) == Exit(code=0)
    assert (child.directory / "stdout").read_text() == "a [secret TOKEN]\n"
    assert (child.directory / "stderr").read_text() == "[secret TOKEN]\n"


def test_secrets_are_masked_in_what_a_cancelled_command_has_printed(tmp_path: Path) -> None:
    masker = Masker({"TOKEN": "s3cret-value"})
    child = replace(shell(tmp_path, "echo s3cret-value; touch ready; sleep 9999"), masker=masker)

    asyncio.run(cancel_when(child, tmp_path / "ready"))
    assert (child.directory / "stdout").read_text() == "[secret TOKEN]\n"
