"""The line that carries an event, and its place in the hash chain.

A line is one JSON object and LF, its keys in this order:

    event_id seq run_id timestamp schema_version actor type payload group prev hash

`hash` is sha256 over the raw bytes of the line before `,"hash":`, never over a re-serialisation; `prev` is the hash of
the line before (64 zeros for the first); `group` is the seq of the first event of the same write. Splitting is on LF
alone: JSON escapes it inside values, and nothing else ends a line.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Literal, TypeAlias

import msgspec
import orjson
from msgspec import Raw, Struct

from hooks.events.payloads import EVENT_TYPES, Payload

SCHEMA_VERSION = 1
FIRST_PREV = "0" * 64
Actor: TypeAlias = Literal["scheduler", "human", "system", "worker", "host_executor", "supervisor"]

_PREV_MARK = b',"prev":"'
_HASH_MARK = b',"hash":"'
_TAIL = len(_HASH_MARK) + 64 + len(b'"}')


class Event(Struct, frozen=True, gc=False):
    """One fact of a run, with its place in the log. `timestamp` is in ms since 1970, UTC."""

    seq: int
    timestamp: int
    actor: Actor
    payload: Payload
    group: int


class BadLineError(ValueError):
    """A line that is not a whole event; `final` when it can be no torn write (its hash is wrong, or it is from a newer
    version). `fix` where that is another than to have back what was written."""

    def __init__(self, reason: str, *, final: bool = False, offset: int = 0, fix: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.final = final
        self.offset = offset
        self.fix = fix


class _Line(Struct, frozen=True, gc=False):
    event_id: str
    seq: int
    run_id: str
    timestamp: int
    schema_version: int
    actor: Actor
    type: str
    payload: Raw
    group: int
    prev: str
    hash: str


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_payload = {name: msgspec.json.Decoder(cls).decode for name, cls in EVENT_TYPES.items()}


def encode(event: Event, run_id: str, prev: str, payload: object) -> tuple[bytes, str]:
    """The line of `event` with LF, and its hash. `payload` is the JSON form of the event's payload, blobs replaced."""
    head = orjson.dumps(
        {
            "event_id": f"{run_id}-{event.seq}",
            "seq": event.seq,
            "run_id": run_id,
            "timestamp": event.timestamp,
            "schema_version": SCHEMA_VERSION,
            "actor": event.actor,
            "type": event.payload.type,
            "payload": payload,
            "group": event.group,
        }
    )[:-1]
    return close_line(head, prev)


def open_line(line: bytes) -> bytes:
    """What a whole line says, without its place in the chain: the part before `prev`."""
    return line[: line.rindex(_PREV_MARK)]


def close_line(head: bytes, prev: str) -> tuple[bytes, str]:
    """The line that says what `head` says, behind the line with the hash `prev`; and its own hash."""
    head = b'%b%b%b"' % (head, _PREV_MARK, prev.encode())
    digest = sha256(head).hexdigest()
    return b'%b%b%b"}\n' % (head, _HASH_MARK, digest.encode()), digest


class DecodedLine(Struct, frozen=True, gc=False):
    """An event with what the reader needs to check its place: whose run, which line before, its own hash."""

    event: Event
    run_id: str
    prev: str
    hash: str


def decode(line: bytes) -> DecodedLine:
    """Read one line (without LF), checking its own hash but not its place in the chain. Raises BadLineError."""
    if len(line) < _TAIL or not line.startswith(b"{"):
        raise BadLineError("this is not a JSON object")
    try:
        raw = _decode_line(line)
    except msgspec.DecodeError as error:
        raise BadLineError(str(error), final=_is_whole_json(line)) from error
    if line[-_TAIL : -_TAIL + len(_HASH_MARK)] != _HASH_MARK:
        raise BadLineError("`hash` is not the last key", final=True)
    if sha256(line[:-_TAIL]).hexdigest() != raw.hash:
        raise BadLineError("the hash does not match the bytes of the line", final=True)
    if raw.schema_version > SCHEMA_VERSION:
        raise BadLineError(
            f"this event has schema version {raw.schema_version}; this version of hooks reads up to {SCHEMA_VERSION}",
            final=True,
            fix="Install a newer version of hooks; nothing is wrong with the run, and nothing was changed.",
        )
    decoder = _decode_payload.get(raw.type)
    if decoder is None:
        raise BadLineError(f"unknown event type {raw.type!r}", final=True)
    try:
        payload = decoder(raw.payload)
    except msgspec.DecodeError as error:
        raise BadLineError(f"payload of {raw.type}: {error}", final=True) from error
    event = Event(raw.seq, raw.timestamp, raw.actor, payload, raw.group)
    return DecodedLine(event, raw.run_id, raw.prev, raw.hash)


def _is_whole_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except ValueError:
        return False
    return True
