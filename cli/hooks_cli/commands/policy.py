"""`hooks policy list|test|sample`: which hooks there are, and what one of them says to a payload."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from hooks.definition.hook_points import HookType, point_named
from hooks.errors import NotFoundError, UsageError
from hooks.pipeline.history import OCCASIONS
from hooks.pipeline.listeners import Listener
from hooks.pipeline.samples import SAMPLE_INPUTS, sample_payload
from hooks.pipeline.trial import try_hook
from hooks.pipeline.verdicts import HookFault
from hooks.storage.run_directory import find_run
from hooks_cli.failures import EXIT_CODES
from hooks_cli.hosting import run_hosting
from hooks_cli.options import AsJson, RunsDir, runs_directory
from hooks_cli.policies import Policies, declared_policies, named
from hooks_cli.recorded_payloads import Recorded, RecordedPayload, recorded_payloads
from hooks_cli.render.policies import listing_document, listing_text, trial_document, trial_text
from hooks_cli.render.streams import emit, emit_bytes, emit_json, on_terminal

HooksFiles = Annotated[list[Path] | None, typer.Option("--hooks", metavar="F", help="More hooks, from a file.")]
_EXIT = {"block": 3, "ask": 4, "would_block": 3, "would_ask": 4, "error": 1, "ignored_error": 1}
assert set(_EXIT.values()) <= EXIT_CODES.keys()

policy = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Hooks: which are asked in which order, and what one of them says.",
)


@policy.command("list")
def list_(
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="A workflow; - is stdin.")] = None,
    hooks: HooksFiles = None,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="The hooks that this run has pinned.")] = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """List hooks by hook point, in the order they are asked.

    With where each comes from, and what is wrong with it. Those of the workflow FILE, of the configs and of --hooks.
    """
    policies = declared_policies(file, hooks or ()) if run is None else _pinned(run, runs_dir)
    document = run_hosting(listing_document(policies))
    if as_json:
        emit_json(document)
    else:
        emit(listing_text(document))
    return 0


@policy.command("test")
def try_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A hook, by its name.")],
    sample: Annotated[
        bool, typer.Option("--sample", help="On a payload made up for its hook point. [default]")
    ] = False,
    payload: Annotated[
        Path | None, typer.Option("--payload", metavar="F", help="On this payload (see `policy sample`).")
    ] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="On what happened in this run.")] = None,
    seq: Annotated[int | None, typer.Option("--seq", metavar="N", min=1, help="At this event of the run.")] = None,
    on: Annotated[str | None, typer.Option("--on", metavar="HOOK", help="At this one of its hook points.")] = None,
    file: Annotated[str | None, typer.Option("--workflow", metavar="FILE", help="The workflow declaring it.")] = None,
    hooks: HooksFiles = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Run one hook on one payload, and record nothing.

    Shows what the hook printed and what that means. Exit code 0: allow or changed, 3: block, 4: ask, 1: the hook
    failed.
    """
    if sum([sample, payload is not None, run is not None]) > 1:
        raise UsageError("--sample, --payload and --run exclude each other.", fix="Leave all but one out.")
    recorded = recorded_payloads(find_run(runs_directory(runs_dir), run)) if run is not None else None
    policies = _with_those_of_the_run(declared_policies(file, hooks or ()), recorded, name)
    document = run_hosting(_tried(policies, name, _wanted_point(on), payload, recorded, seq))
    if as_json:
        emit_json(document)
    else:
        emit(trial_text(document))
    return _EXIT.get(document["outcome"], 0)


@policy.command("sample")
def sample_(point: Annotated[str, typer.Argument(metavar="HOOK", help="A hook point, or an alias of one.")]) -> int:
    """Print a valid payload of a hook point."""
    document = sample_payload(required_point(point))
    if on_terminal():
        emit_json(document)
    else:
        emit_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return 0


def required_point(word: str) -> HookType:
    """The hook point of that name. Raises UsageError."""
    found = point_named(word)
    if found is None:
        raise UsageError(f"There is no hook point {word!r}.", fix=f"Use one of {', '.join(HookType)}.")
    return found


def _wanted_point(word: str | None) -> HookType | None:
    return None if word is None else required_point(word)


def _pinned(run: str, runs_dir: Path | None) -> Policies:
    return recorded_payloads(find_run(runs_directory(runs_dir), run)).policies


def _with_those_of_the_run(policies: Policies, recorded: Recorded | None, name: str) -> Policies:
    """A hook that is not declared here may be one that the run has pinned."""
    if recorded is None or any(f"{name}.".startswith(f"{member.name}.") for member in policies.members):
        return policies
    return recorded.policies


async def _tried(
    policies: Policies,
    name: str,
    point: HookType | None,
    file: Path | None,
    recorded: Recorded | None,
    seq: int | None,
) -> dict[str, Any]:
    member, here = named(policies, name), Path.cwd()
    place = recorded.directory if recorded is not None else here
    only = Policies([member], policies.workflow_id)
    pipeline = only.pipeline(
        run_id=recorded.run_id if recorded is not None else "sample",
        run_directory=place,
        working_directory=recorded.working_directory if recorded is not None else here,
        transcript=place / "events.jsonl",
    )
    await pipeline.open()
    try:
        everywhere = [each for known in HookType for each in pipeline.listeners(known)]
        listeners = [each for each in everywhere if name in (member.name, each.name) and point in (None, each.point)]
        if not listeners:
            parts = ", ".join(dict.fromkeys(f"{each.name} at {each.point}" for each in everywhere))
            where = f" at {point}" if point is not None else ""
            raise UsageError(f"There is no {name}{where}.", fix=f"There is {parts}.")
        if recorded is not None:
            listener, found = _recorded_payload(listeners, recorded, seq)
            trial = await try_hook(pipeline.chain, listener, found.document)
            return trial_document(trial, seq=found.seq, of=found.document)
        document = _payload(listeners, file)
        listener = next(each for each in listeners if each.point == document["hook"])
        return trial_document(await try_hook(pipeline.chain, listener, document))
    finally:
        await pipeline.close()


def _payload(listeners: list[Listener], file: Path | None) -> dict[str, Any]:
    if file is None:
        return sample_payload(listeners[0].point, _fitting_executor(listeners[0].entry.match.executor))
    document = _read(file)
    if document.get("hook") not in [listener.point for listener in listeners]:
        raise UsageError(f"{file} is a payload of {document.get('hook')!r}, where the hook is not asked.")
    return document


def _recorded_payload(
    listeners: list[Listener], recorded: Recorded, seq: int | None
) -> tuple[Listener, RecordedPayload]:
    """The first payload, at event `seq` or anywhere, that the hook would have been asked about; and by which name."""
    fitting = [
        (listener, payload)
        for payload in recorded.payloads
        for listener in listeners
        if listener.point == payload.document["hook"] and seq in (None, payload.seq)
    ]
    matched = [(listener, payload) for listener, payload in fitting if listener.matches(payload.subject)]
    if matched:
        # An `if` that is false for all of them is told, not taken for "there is none".
        return next((each for each in matched if _is_asked(each[0], each[1].document)), matched[0])
    points = list(dict.fromkeys(listener.point for listener in listeners))
    events = ", ".join(dict.fromkeys(name for point in points for name in OCCASIONS.get(point, ())))
    where = f"Event {seq}" if seq is not None else "No event"
    if fitting:
        why = "what its `match` chooses"
        node = fitting[0][1].document["node_id"]
        where += f" ({node})" if seq is not None and node else ""
    else:
        why = f"an occasion for {', '.join(points)}"
    raise NotFoundError(
        f"{where} of run {recorded.run_id} is {'not ' if seq is not None else ''}{why}.",
        fix=f"Occasions are: {events}, and hookDecided; `hooks tail {recorded.run_id} --no-follow` lists events.",
        run=recorded.run_id,
    )


def _is_asked(listener: Listener, document: dict[str, Any]) -> bool:
    try:
        return listener.applies_to(document)
    except HookFault:
        return True  # it fails there, and that is worth seeing


def _fitting_executor(globs: list[str]) -> str:
    """An executor that the hook would be asked about, if there is a sample of one."""
    return next((name for name in SAMPLE_INPUTS for glob in globs or ["*"] if fnmatchcase(name, glob)), "shell")


def _read(file: Path) -> dict[str, Any]:
    try:
        document = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{file} is no JSON: {error}.", fix="`hooks policy sample HOOK` prints a payload.") from error
    if not isinstance(document, dict):
        raise UsageError(f"{file} is no payload.", fix="`hooks policy sample HOOK` prints one.")
    return document
