"""Writes a file: the whole content atomically (`write`, `replace`), or some bytes at the end in one write (`append`).

`prepare` notes what was there before (the sha256 of the file, for an append also its length). By that note the bytes
on disk alone say, after a crash, whether the call happened: see `FileExecutor.lookup`.

A link is followed: its target is written, and stays its target. A file that is written whole keeps its permissions,
and its owner where we may set one; other hard links to it keep the old content.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import stat
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from hooks.callables import in_thread
from hooks.events.payloads import ErrorClass
from hooks.executors.base import EffectCall, Executor, InputError, Prepared, Settled
from hooks.executors.inputs import check_keys, text_at, word_at
from hooks.executors.settling import unsettled

MODES = ("write", "replace", "append")


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
        size, digest = _present_state(path)
        canonical: dict[str, Any] = {
            "path": str(path),
            "mode": mode,
            "content": text_at("input.content", resolved_input["content"]),
            "prior_sha256": digest,
        }
        if mode == "append":
            canonical["offset"] = size
        return Prepared(canonical, provider="file")

    async def execute(self, call: EffectCall) -> Settled:
        """Write; durable when it returns. What is cancelled meanwhile is written to its end first: it cannot be halved.

        A second cancellation no longer waits (a file system may hang).
        """
        perform = _append if call.input["mode"] == "append" else _write_whole
        writing = in_thread(partial(perform, call))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait({writing})
            raise

    async def adopt(self, call: EffectCall) -> Settled | None:
        """Nothing: a write dies with its driver. What it left is for `lookup`."""
        return None

    def lookup(self, call: EffectCall) -> Settled | None:
        """Whether the call happened, by what is on disk: done, not_done, or None if it could be either or neither.

        A whole write whose content was there already before reads as done: the file is as it should be.
        """
        path, content = Path(call.input["path"]), _content(call)
        try:
            if call.input["mode"] == "append":
                happened = _appended(path, content, call.input["offset"], call.input["prior_sha256"])
            else:
                happened = _written(path, content, call.input["prior_sha256"])
        except (OSError, InputError):
            return None  # cannot look, or something else is there now: not known
        if happened is None:
            return None
        return _done(call) if happened else unsettled("not_done", "NotWritten", "retryable", f"{path} is as before.")


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


def _written(path: Path, content: bytes, prior_sha256: str | None) -> bool | None:
    _, now = _present_state(path)
    if now == hashlib.sha256(content).hexdigest():
        return True
    return False if now == prior_sha256 else None


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
        return os.open(target, os.O_WRONLY | os.O_APPEND), False


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


def _appended(path: Path, content: bytes, offset: int, prior_sha256: str | None) -> bool | None:
    """True: our bytes stand at their offset behind what was there. False: the file is as it was."""
    if not path.exists():
        return False if prior_sha256 is None else None
    with open(path, "rb") as file:
        head = hashlib.sha256()
        left = offset
        while left and (part := file.read(min(left, 1 << 20))):
            head.update(part)
            left -= len(part)
        if left or (prior_sha256 is not None and head.hexdigest() != prior_sha256):
            return None
        tail = file.read(len(content) + 1)
    if not tail:
        return not content
    return True if tail[: len(content)] == content else None


# ---- common --------------------------------------------------------------------------------------------------------


def _content(call: EffectCall) -> bytes:
    return str(call.input["content"]).encode()


def _present_state(path: Path) -> tuple[int, str | None]:
    """Length and sha256 of the file; 0 and None if there is none. Raises InputError for what cannot be compared."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "a directory; name a file in it" if stat.S_ISDIR(mode) else "no regular file"
            raise InputError(f"input.path: {path} is {kind}.")
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return file.tell(), digest
    except (FileNotFoundError, NotADirectoryError):
        return 0, None
    except OSError as error:
        raise InputError(
            f"input.path: cannot read {path} ({error.strerror}); what it holds before must be known."
        ) from error


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
    mendable = {errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP}
    return "userFault" if error.errno in mendable else "retryable"
