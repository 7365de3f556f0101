"""Bytes that break others: in params, in what steps and agents print, in what is pasted where."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.command import CommandLine

ODD = "line\nbreak\r\x00\u2028\x85\x1b[2J\t\"'\\"
PRINTS = """\
workflow_id: prints
version: 1
params: {{value: {{}}}}
agents: {{w: {{kind: command, argv: [cat]}}}}
nodes:
  step: {{executor: shell, read_only: true, input: {{argv: [printf, '{printed}']}}}}
  seen: {{executor: shell, read_only: true, env: {{VALUE: "${{params.value}}"}}, input: {{argv: [printenv, VALUE]}}}}
  said: {{agent: w, depends: [step], prompt: "${{step.output.stdout}}"}}
"""
HOSTILE = ["x'; touch pwned; echo '", "$(touch pwned)", "`touch pwned`", "x\ntouch pwned\n", "; touch pwned #", "-n"]
EVERY_WAY = """\
workflow_id: ways
version: 1
params: {value: {}}
agents: {w: {kind: command, argv: [cat]}}
nodes:
  said: {agent: w, prompt: "${params.value}"}
  step:
    executor: shell
    depends: [said]
    env: {PARAM: "${params.value}", SAID: "${said.output}"}
    input:
      argv: [bash, -c, 'printf %s "$PARAM" "$SAID" "$1" "$2"; cat', bash, "${params.value}", "${said.output}"]
      stdin: "${said.output}"
"""
HUGE = """\
workflow_id: huge
version: 1
nodes:
  big:
    executor: shell
    read_only: true
    input: {script: "head -c 50000000 /dev/zero | tr '\\\\0' x; echo; echo second"}
"""
MEASURED = """\
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        (r"a\342\200\250b\0c\rd", "a\u2028b\0c\rd"),
        (r"\262\r\n\033[31mred", "\ufffd\r\n\x1b[31mred"),
        (r"\355\240\200", "\ufffd" * 3),
        (r"\357\273\277bom\302\205", "\ufeffbom\x85"),
    ],
)
def test_what_breaks_lines_or_text_elsewhere_stays_in_its_event_and_off_the_terminal(
    cli: CommandLine, printed: str, text: str
) -> None:
    """B31, B39"""
    value = ODD.replace("\x00", "")
    cli.write("prints.yaml", PRINTS.format(printed=printed))

    ended = cli.hooks("run", "prints.yaml", "--run-id", "r", "-p", f"value={value}")

    assert ended.code == 0, ended.err
    assert cli.hooks("show", "r", "--field", "nodes.step.output.stdout").out == f"{text}\n"
    assert ended.document["seen"]["stdout"] == f"{value}\n"
    assert ended.document["said"] == text
    log = (cli.runs / "r" / "events.jsonl").read_bytes()
    assert log.count(b"\n") == cli.log_lines("r")[-1]["seq"]
    assert cli.hooks("verify", "r").code == 0
    for seen in (ended.err, cli.hooks("show", "r").out, cli.hooks("tail", "r").out):
        assert not set(seen) & set("\x1b\r\x00\x85\u2028")


def test_bytes_that_are_no_text_are_kept_and_that_they_were_replaced_is_told(cli: CommandLine) -> None:
    """B39"""
    cli.write("prints.yaml", PRINTS.format(printed=r"\262\r\n"))
    cli.hooks("run", "prints.yaml", "--run-id", "r", "-p", "value=x")

    assert cli.hooks("show", "r", "--field", "nodes.step.output.decoded_with_replacement").out == "true\n"
    (raw,) = [file.read_bytes() for file in cli.runs.glob("r/attempts/*/stdout") if b"\r\n" in file.read_bytes()][:1]
    assert raw == b"\xb2\r\n"


@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_is_never_read_as_code(cli: CommandLine, value: str) -> None:
    """B48: as an argument, in the environment, on stdin; from a param and from an agent."""
    cli.write("ways.yaml", EVERY_WAY)

    ended = cli.hooks("run", "ways.yaml", "-p", f"value={value}")

    said = value.removesuffix("\n")
    assert ended.code == 0, ended.err
    assert ended.document["step"]["stdout"] == value + said + value + said + said
    assert not (cli.directory / "pwned").exists()


def test_a_line_of_50_mb_is_kept_whole_and_cut_where_it_is_shown(cli: CommandLine) -> None:
    """B36: within 100 MB of memory."""
    cli.write("huge.yaml", HUGE)
    cli.write("measured.py", MEASURED)
    command = ["-m", "hooks_cli", "run", "huge.yaml", "--run-id", "r"]

    measured = subprocess.run(
        [sys.executable, "measured.py", sys.executable, *command],
        cwd=cli.directory,
        env=cli.environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    code, memory_mib = map(int, measured.stdout.split())

    assert (code, memory_mib < 100) == (0, True)
    (file,) = cli.runs.glob("r/attempts/*/stdout")
    assert file.stat().st_size == 50_000_008
    with file.open("rb") as stdout:
        stdout.seek(-8, 2)
        assert stdout.read() == b"\nsecond\n"
    assert cli.hooks("show", "r", "--field", "nodes.big.output.truncated").out == "true\n"
    shown = cli.hooks("show", "r", "--node", "big").out
    assert "more characters" in shown
    assert len(shown) < 100_000
    assert max(map(len, cli.hooks("tail", "r").out.splitlines())) < 1_000
