"""The inbox: requests of other processes, one file each, durable before anybody acts on them.

Whoever wants something of a run that another process drives drops a request here: written to a temporary name, synced,
renamed, the directory synced. The driver takes them in order of their names, which begin with the time, and removes a
file only when the event that answers it is durable; a file it finds again by then has its id in the log and is dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from hooks.errors import CorruptRunError, StorageError, UsageError
from hooks.events.payloads import NodeReference, Value
from hooks.jsonio import require
from hooks.storage.durable_files import Durability, read_bytes, rename, storage_error, sync_directory, write_new_file

_SUFFIX = ".json"
_LARGEST = 16 << 20


class CancelRequest(Struct, frozen=True, kw_only=True, tag="cancel", tag_field="type", rename="camel"):
    """Cancel the run, or one node of it."""

    id: str
    by: str
    at: int
    reason: str | None = None
    node: NodeReference | None = None
    grace_ms: int | None = None


class GateAnswer(Struct, frozen=True, kw_only=True, tag="gate", tag_field="type", rename="camel"):
    """Answer an open gate; with `digest` only if it asks about exactly that."""

    id: str
    by: str
    at: int
    wait_id: str
    approved: bool
    comment: str = ""
    digest: str | None = None


class Resolution(Struct, frozen=True, kw_only=True, tag="resolve", tag_field="type", rename="camel"):
    """Settle an effect in doubt: compared with the attempt it speaks of, and set."""

    id: str
    by: str
    at: int
    activity_id: str
    attempt_id: str
    outcome: str
    """done, failed or retry."""
    output: Value = None
    new_key: bool = False
    reason: str | None = None


Request: TypeAlias = CancelRequest | GateAnswer | Resolution

_decode = msgspec.json.Decoder(Request).decode


def put_request(inbox: Path, request: Request, durability: Durability) -> Path:
    """Drop a request; durable on return. Its file is named by its id, which must sort by time.

    Raises UsageError for what JSON cannot carry, and for one that is so large that it would not be read; StorageError,
    and what is left of it then, `withdraw_request` removes.
    """
    for name in request.__struct_fields__:
        if not isinstance(value := getattr(request, name), Struct):
            require(name, value)
    data = msgspec.json.encode(request)
    if len(data) > _LARGEST:
        raise UsageError(
            f"This request has {len(data)} bytes; {_LARGEST} are taken at the most.",
            fix="Say less: of a large output a path or a summary.",
        )
    temporary, target = _files_of(inbox, request)
    try:
        inbox.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise storage_error("make the directory", inbox, error) from error
    write_new_file(temporary, data, durability)
    rename(temporary, target, durability)
    return target


def _files_of(inbox: Path, request: Request) -> tuple[Path, Path]:
    return inbox / f".{request.id}.tmp", inbox / f"{request.id}{_SUFFIX}"


def withdraw_request(inbox: Path, request: Request, durability: Durability) -> None:
    """Take a request back that nobody has answered; only for who holds the driver's lock. Durable on return."""
    for path in _files_of(inbox, request):
        if os.path.lexists(path):
            remove_request(path, durability)


class BadRequest(Struct, frozen=True):
    """A file in the inbox that is no request; `reason` says why."""

    path: Path
    reason: str


def requests_in(inbox: Path) -> Iterator[tuple[Path, Request | BadRequest]]:
    """The requests that lie in the inbox, in order; files that are none are named, not passed over."""
    for name in sorted(_names(inbox)):
        path = inbox / name
        try:
            if path.lstat().st_size > _LARGEST:
                yield path, BadRequest(path, "it is larger than any request")
                continue
            request: Any = _decode(read_bytes(path))
        except FileNotFoundError:
            continue
        except CorruptRunError as error:
            yield path, BadRequest(path, error.reason)
            continue
        except (msgspec.DecodeError, StorageError, OSError) as error:
            yield path, BadRequest(path, str(error))
            continue
        yield path, request


def _names(inbox: Path) -> list[str]:
    try:
        return [name for name in os.listdir(inbox) if name.endswith(_SUFFIX) and not name.startswith(".")]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise storage_error("read the directory", inbox, error) from error


def has_requests(inbox: Path) -> bool:
    """Whether anything lies in the inbox; one look at a directory."""
    return bool(_names(inbox))


def put_aside(path: Path, durability: Durability) -> Path:
    """Give a file that is no request a name that nobody reads; the new path."""
    aside = path.with_name(f".bad-{path.name}")
    rename(path, aside, durability)
    return aside


def remove_request(path: Path, durability: Durability) -> None:
    """Take a request out of the inbox, once its answer is durable or there will be none."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise storage_error("remove", path, error) from error
    sync_directory(path.parent, durability)
