"""A sampling loop of four draws, struck at its changes to the disk, recovered, and compared with an undisturbed one.

Agents answer by the number of the call, which a hook has put at the end of the prompt, and note outside what they were
asked: the same call always gets the same answer, so that whatever differs is the loop's doing. The hook stands at every
point and notes what it was asked.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hooks import read_events, read_run, verify_run
from hooks.events.payloads import GenerationFinished, GenerationStarted, SamplingLoopEnded
from tests.cli.command import CommandLine
from tests.crash.crash_matrix import RUN, Scenario, Trial
from tests.crash.faults import KILLED, Fault, Point

HOOK = """\
from pathlib import Path
from hooks import ask, modify

def note(payload):
    with (Path(__file__).parent.parent / "asked-hooks").open("a") as file:
        file.write(payload.request_id + "\\n")
    if payload.hook == "generation_pre_call":
        return modify(prompt=f"{payload.prompt} #{payload.request_id.rsplit('::', 1)[1]}")

def doubt(payload):
    return ask("sure?") if payload.request_id.endswith("::ASKS_AT") else None
"""
COMMAND = """\
prompt=$(cat)
call=${prompt##*#}
printf '%s\\n' "$prompt" >> "../asked/$call"
grep -q busy "answers/$call" && { echo busy >&2; exit 1; }
cat "answers/$call"
"""
PYTHON = """\
from pathlib import Path

def answer(prompt):
    call = prompt.rsplit("#", 1)[1]
    with (Path(__file__).parent.parent / "asked" / call).open("a") as file:
        file.write(prompt + "\\n")
    return Path("answers", call).read_text()
"""
CHECK = """\
answer=$(cat)
case $answer in good*) exit 0;; esac
echo "not good: $answer"
exit 1
"""
AGENTS = {
    "command": "{kind: command, argv: [sh, answer.sh], error_classes: {retryable: [busy]}}",
    "python": '{kind: python, callable: "answer.py:answer"}',
}
BY_COMMAND = "{name: good, command: [sh, check.sh]}"
BY_JUDGE = "{name: judged, judge: {agent: writer, prompt: Judge it.}}"


@dataclass(frozen=True)
class Loop:
    """A step whose agent answers its calls with `answers`, in order; those of a judge are objects, `busy` is an error.

    `asks_at`: the call before which a person is asked; they approve, and it is the driver after that which is struck.
    """

    name: str
    sampling: str
    answers: Sequence[Any]
    agent: str = "command"
    requirements: Sequence[str] = (BY_COMMAND,)
    parallel: int = 1
    asks_at: int = 0

    @property
    def scenario(self) -> Scenario:
        workflow = (
            "workflow_id: loop\nversion: 1\n"
            f"agents: {{writer: {AGENTS[self.agent]}}}\n"
            "hooks:\n"
            f'  - {{name: note, on: [{", ".join(_POINTS)}], python: "note.py:note"}}\n'
            '  - {name: doubt, on: generation_pre_call, python: "note.py:doubt"}\n'
            "nodes:\n  told:\n    agent: writer\n    prompt: Tell.\n    retry: {max_attempts: 3, base: 1ms}\n"
            f"    sampling: {self.sampling}\n"
            f"    requirements: [{', '.join(self.requirements)}]\n"
        )
        files = {
            "workflow.yaml": workflow,
            "note.py": HOOK.replace("ASKS_AT", str(self.asks_at)),
            "answer.sh": COMMAND,
            "answer.py": PYTHON,
            "check.sh": CHECK,
        }
        return Scenario(self.name, files, effect=b"")


_POINTS = (
    "component_pre_execute",
    "component_post_success",
    "sampling_loop_start",
    "sampling_iteration",
    "sampling_repair",
    "sampling_loop_end",
    "generation_error",
    "generation_pre_call",
    "generation_post_call",
    "validation_pre_check",
    "validation_post_check",
)


@dataclass(frozen=True)
class LoopTrial:
    """One directory in which a loop is run."""

    loop: Loop
    directory: Path
    trial: Trial = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "trial", Trial(self.loop.scenario, self.directory))

    def set_up(self) -> None:
        self.trial.set_up()
        (self.directory / "asked").mkdir()
        (self.trial.root / "answers").mkdir()
        for call, said in enumerate(self.loop.answers, start=1):
            text = said if isinstance(said, str) else json.dumps(said)
            (self.trial.root / "answers" / str(call)).write_text(text)
        if self.loop.asks_at:
            cli = CommandLine(self.trial.root)
            assert cli.hooks(*self.trial.scenario.words).code == 4
            assert cli.hooks("approve", RUN).code == 0

    @property
    def words(self) -> list[str]:
        """The command that is struck."""
        return ["recover", RUN] if self.loop.asks_at else self.trial.scenario.words

    def prompts(self) -> dict[int, list[str]]:
        """What the agent was really asked, by call; a call that was paid twice has it twice."""
        noted = {int(path.name): path.read_text() for path in (self.directory / "asked").iterdir()}
        return {call: _separate(text, call) for call, text in sorted(noted.items())}

    def hooks_asked(self) -> list[str]:
        noted = self.directory / "asked-hooks"
        return noted.read_text().splitlines() if noted.exists() else []

    def finished(self) -> set[int]:
        """The calls whose end is in the log."""
        payloads = [event.payload for event in read_events(self.trial.run)] if self.trial.run.path.exists() else []
        return {
            _call_of(payload.generation_id)
            for payload in payloads
            if isinstance(payload, GenerationFinished) and not payload.interrupted
        }

    def started(self) -> int:
        payloads = [event.payload for event in read_events(self.trial.run)] if self.trial.run.path.exists() else []
        return sum(isinstance(payload, GenerationStarted) for payload in payloads)

    def ends(self) -> int:
        return sum(isinstance(event.payload, SamplingLoopEnded) for event in read_events(self.trial.run))

    def output(self) -> Any:
        return read_run(self.trial.run).output()


def _separate(text: str, call: int) -> list[str]:
    end = f" #{call}\n"
    return [part + end for part in text.split(end)[:-1]]


def _call_of(generation_id: str) -> int:
    return int(generation_id.rsplit("-", 1)[1])


@dataclass(frozen=True)
class WholeLoop:
    """What a loop comes to, what it asks, and where it can be struck."""

    points: list[Point]
    output: Any
    prompts: dict[int, list[str]]
    hooks_asked: list[str]


def undisturbed_loop(loop: Loop, directory: Path) -> WholeLoop:
    here = LoopTrial(loop, directory)
    here.set_up()
    ended = here.trial.faulty(here.words, Fault("count", 0))
    assert ended.code == 0, ended.err
    prompts = here.prompts()
    assert [*prompts] == [*range(1, len(loop.answers) + 1)], "not every answer was asked for"
    return WholeLoop(here.trial.points(), here.output(), prompts, list(dict.fromkeys(here.hooks_asked())))


def sweep_loop(loop: Loop, directory: Path, *, every: int, mode: str = "kill") -> list[str]:
    """Strike the loop at every `every`-th point; what went wrong, a line each."""
    whole = undisturbed_loop(loop, directory / "undisturbed")
    points = [point for point in whole.points if mode != "torn" or point.call in ("write", "pwrite")]
    first = zlib.crc32(f"{loop.name} {mode}".encode()) % every
    with ThreadPoolExecutor(2) as pool:
        trials = pool.map(
            lambda point: _strike(loop, directory / str(point.number), point, whole, mode), points[first::every]
        )
        return [f"{mode} at {point}: {problem}" for point, problem in trials if problem]


def _strike(loop: Loop, directory: Path, point: Point, whole: WholeLoop, mode: str) -> tuple[Point, str]:
    here = LoopTrial(loop, directory)
    here.set_up()
    try:
        struck = here.trial.faulty(here.words, Fault(mode, point.number))
        if struck.code == 0 and here.trial.points()[-1].number < point.number:
            return point, ""  # draws made at once share their writes as they come: this time there were fewer
        assert struck.code == KILLED, f"exit code {struck.code}: {struck.err[-500:]}"
        finished, has_started, asked_before = here.finished(), here.started() > 0, here.hooks_asked()
        recovered = here.trial.recover()
        assert recovered.code == 0, f"recover: exit code {recovered.code}: {recovered.err[-500:]}"
        _check_loop(here, whole)
        prompts = here.prompts()
        assert all(len(prompts[call]) == 1 for call in finished), f"a finished call was paid again: {prompts}"
        of_start = [asked for asked in here.hooks_asked()[len(asked_before) :] if "::sampling_loop_start::" in asked]
        assert not (has_started and of_start), "asked at loop start, though a draw had begun"
    except AssertionError as problem:
        return point, str(problem) or "failed"
    return point, ""


def _check_loop(here: LoopTrial, whole: WholeLoop) -> None:
    assert here.output() == whole.output
    assert here.ends() == 1
    assert verify_run(here.trial.run) == []
    prompts = here.prompts()
    said = {call: list(dict.fromkeys(asked)) for call, asked in prompts.items()}
    assert said == whole.prompts, f"other questions: {said}"
    paid, recorded = sum(map(len, prompts.values())), len(here.finished())
    if here.loop.agent == "command":
        assert paid == recorded, f"a draw whose process was left behind was made again: {prompts}"
    assert paid <= recorded + here.loop.parallel, f"{paid} paid, {recorded} recorded"
    once = list(dict.fromkeys(here.hooks_asked()))
    assert once == whole.hooks_asked, f"hooks were asked in another order: {once}"
    log = here.trial.log
    assert here.trial.recover().code == 0
    assert here.trial.log == log, "a second recover wrote"


def said_by_judge(score: float) -> dict[str, Any]:
    return {"passed": score > 0.5, "score": score, "reason": f"it is worth {score}"}
