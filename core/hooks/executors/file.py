"""Writes a file: the whole content atomically (`write`, `replace`), or some bytes at the end in one write (`append`).

`prepare` notes what was there before (the sha256 of the file, for an append also its length). By that note the bytes
on disk alone say, after a crash, whether the call happened: see `FileExecutor.look_up`.

A link is followed: its target is written, and stays its target. A file that is written whole keeps its permissions,
and its owner where we may set one; other hard links to it keep the old content.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from hooks.callables import in_thread
from hooks.events.payloads import ErrorClass
from hooks.executors.base import (
    Absent,
    CannotTell,
    EffectCall,
    Executor,
    Found,
    InputError,
    Later,
    LookUp,
    Prepared,
    Settled,
)
from hooks.executors.file_state import NotAFileError, file_state, was_appended, was_written
from hooks.executors.inputs import check_keys, filled_text, text_or_secret_at, word_at
from hooks.executors.settling import unsettled
from hooks.regular_files import NotARegularFileError, open_regular, open_regular_descriptor

MODES = ("write", "replace", "append")
_MENDABLE = frozenset(
    {
        errno.EACCES,
        errno.EINVAL,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
    }
)


class FileExecutor(Executor):
    """Provider `file`; output {path, bytes, sha256} tells of the bytes that were written, not of the file around them.

    `write` makes a new file or replaces one, `replace` wants one to be there, `append` makes one if need be.
    A relative path starts at the run's working directory. Directories are never made.
    """

    def prepare(self, resolved_input: dict[str, Any], *, working_directory: Path, workflow_directory: Path) -> Prepared:
        check_keys(resolved_input, ("path", "content", "mode"))
        for key in ("path", "content"):
            if key not in resolved_input:
                raise InputError(f"input.{key} is missing.")
        mode = resolved_input.get("mode", "write")
        if mode not in MODES:
            raise InputError(f"input.mode: {mode!r} is none of {', '.join(MODES)}.")
        named = word_at("input.path", resolved_input["path"])
        path = working_directory.absolute() / named
        if not named or named.endswith("/"):
            raise InputError(f"input.path: {named!r} names no file.")
        size, digest = _prior_state(path)
        canonical: dict[str, Any] = {
            "path": str(path),
            "mode": mode,
            "content": text_or_secret_at("input.content", resolved_input["content"]),
            "prior_sha256": digest,
        }
        if mode == "append":
            canonical["offset"] = size
        return Prepared(canonical, provider="file")

    async def execute(self, call: EffectCall) -> Settled:
        """Write; durable when it returns. What is cancelled meanwhile is written to its end first: it cannot be halved.

        A second cancellation no longer waits (a file system may hang).
        """
        try:
            _content(call)
        except InputError as error:
            return unsettled("not_done", "InvalidInput", "userFault", str(error))
        perform = _append if call.input["mode"] == "append" else _write_whole
        writing = in_thread(partial(perform, call))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait({writing})
            raise

    def can_look_up(self, canonical_input: Mapping[str, Any]) -> bool:
        return True

    async def look_up(self, call: EffectCall) -> LookUp:
        """Whether the call happened, by what is on disk now, compared with what stood there before.

        A whole write whose content was there already before reads as done: the file is as it should be. What is found
        is durable when this returns, as after `execute`.
        """
        found: LookUp = await in_thread(partial(_look_up, call))
        return found


def _look_up(call: EffectCall) -> LookUp:
    path = Path(call.input["path"])
    try:
        content = _content(call)
        if call.input["mode"] == "append":
            happened = was_appended(path, content, call.input["offset"], call.input["prior_sha256"])
        else:
            happened = was_written(path, content, call.input["prior_sha256"])
        if happened:
            _make_durable(path)
    except OSError as error:
        return Later(f"Cannot make sure of {path}: {error.strerror}.")
    except (InputError, NotAFileError) as error:
        return CannotTell(str(error))
    if happened is None:
        return CannotTell(f"{path} is neither as it was before nor as it should be: something else has changed it.")
    if not happened:
        return Absent()
    done = _done(call)
    return Found(done, done.output)


# ---- the whole content ---------------------------------------------------------------------------------------------


def _write_whole(call: EffectCall) -> Settled:
    path = Path(call.input["path"])
    target = Path(os.path.realpath(path))
    try:
        before = target.stat() if target.exists() else None
    except OSError as error:
        return _not_done(path, error)
    if before is None and call.input["mode"] == "replace":
        return unsettled(
            "not_done",
            "FileMissing",
            "userFault",
            f"{path} is not there to be replaced; `mode: write` makes a new file.",
        )
    if before is not None and not stat.S_ISREG(before.st_mode):
        return _not_done(path, NotARegularFileError(target, before.st_mode))
    if before is not None and not os.access(target, os.W_OK):
        return unsettled("not_done", "EACCES", "userFault", f"Cannot write {path}: it is write-protected.")
    # One name for all attempts of this call: what a killed driver left is taken away by the next attempt.
    draft = target.with_name(f".hooks-{hashlib.sha256(f'{call.key} {path}'.encode()).hexdigest()[:16]}.tmp")
    try:
        draft.unlink(missing_ok=True)
        _make_draft(draft, _content(call), before)
        os.rename(draft, target)
    except OSError as error:
        with suppress(OSError):  # the first error is the one to report
            draft.unlink(missing_ok=True)
        return _not_done(path, error)
    try:
        _sync_directory(target.parent)
    except OSError as error:
        return _unknown(path, error)
    return _done(call)


def _make_draft(draft: Path, content: bytes, before: os.stat_result | None) -> None:
    """Write the content durably beside its target, with the rights of the file it is to replace."""
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    with open(descriptor, "wb", buffering=0) as file:
        if before is not None:
            made = os.fstat(descriptor)
            if (made.st_uid, made.st_gid) != (before.st_uid, before.st_gid):
                with suppress(PermissionError):  # only root may give files away; the content is what was asked for
                    os.fchown(descriptor, before.st_uid, before.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
        written = 0
        while written < len(content):
            written += file.write(content[written:] if written else content)
        os.fsync(descriptor)


# ---- bytes at the end ----------------------------------------------------------------------------------------------


def _append(call: EffectCall) -> Settled:
    path, offset, content = Path(call.input["path"]), call.input["offset"], _content(call)
    try:
        descriptor, made = _open_for_append(path)
    except OSError as error:
        return _not_done(path, error)
    try:
        settled = _append_at(descriptor, path, offset, content, call)
        if settled.outcome == "done" and made:
            _sync_directory(Path(os.path.realpath(path)).parent)
    except OSError as error:
        return _unknown(path, error)
    finally:
        os.close(descriptor)
    if settled.outcome == "not_done" and made:
        with suppress(OSError):  # an empty file left behind is no reason for another outcome
            os.unlink(os.path.realpath(path))
    return settled


def _open_for_append(path: Path) -> tuple[int, bool]:
    """A descriptor, and whether the file was made by this call."""
    target = os.path.realpath(path)
    try:
        return os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o666), True
    except FileExistsError:
        return open_regular_descriptor(Path(target), os.O_WRONLY | os.O_APPEND), False


def _append_at(descriptor: int, path: Path, offset: int, content: bytes, call: EffectCall) -> Settled:
    size = os.fstat(descriptor).st_size
    if size != offset:
        message = f"{path} has {size} bytes, and had {offset} when the call was prepared; nothing was written."
        return unsettled("not_done", "FileChanged", "retryable", message)
    try:
        written, reason = os.write(descriptor, content), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        written, reason = 0, error
    if written < len(content):
        return _undo_append(descriptor, path, offset, written, reason)
    os.fsync(descriptor)
    return _done(call)


def _undo_append(descriptor: int, path: Path, offset: int, written: int, reason: OSError) -> Settled:
    """Take a part of the content away again, if the file holds nothing else that is new."""
    if os.fstat(descriptor).st_size != offset + written:
        return _unknown(path, reason)
    os.ftruncate(descriptor, offset)
    return _not_done(path, reason)


# ---- common --------------------------------------------------------------------------------------------------------


def _content(call: EffectCall) -> bytes:
    return filled_text("input.content", call.input["content"]).encode()


def _prior_state(path: Path) -> tuple[int, str | None]:
    try:
        return file_state(path)
    except NotAFileError as error:
        raise InputError(f"input.path: {error}") from error
    except OSError as error:
        message = f"input.path: cannot read {path} ({error.strerror}); what it holds before must be known."
        raise InputError(message) from error


def _make_durable(path: Path) -> None:
    """Sync a file that a killed driver may have written and not synced: what it holds may be in memory only."""
    target = Path(os.path.realpath(path))
    with open_regular(target) as file:
        os.fsync(file.fileno())
    with suppress(PermissionError):  # one may write into a directory that one may not read
        _sync_directory(target.parent)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _done(call: EffectCall) -> Settled:
    content = _content(call)
    return Settled(
        "done",
        {"path": call.input["path"], "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()},
    )


def _not_done(path: Path, error: OSError) -> Settled:
    parent = path.parent
    if isinstance(error, FileNotFoundError | NotADirectoryError) and not parent.is_dir():
        message = f"There is no directory {parent}; make it first (`mkdir -p`)."
        return unsettled("not_done", "DirectoryMissing", "userFault", message)
    message = f"Cannot write {path}: {error.strerror}; it is as before."
    return unsettled("not_done", _code(error), _class_of(error), message)


def _unknown(path: Path, error: OSError) -> Settled:
    message = f"Writing {path} failed half way: {error.strerror}; what it holds now is not known."
    return unsettled("unknown", _code(error), _class_of(error), message)


def _code(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "OSError")


def _class_of(error: OSError) -> ErrorClass:
    """What a person must mend is their fault; a full or shaky disk may do better later."""
    return "userFault" if error.errno in _MENDABLE else "retryable"
