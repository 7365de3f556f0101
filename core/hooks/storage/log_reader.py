"""Reads events.jsonl: what is committed, and whether what follows is a torn write or damage.

Committed is everything before the first bad line. A torn write is what a crash leaves of a group whose write never
returned: its end is missing, or pages of it are zero bytes. Nobody has acted on it, so the holder of the lock may cut
it. Every other bad line is damage, and nothing is changed:

- a line that is whole from its hash to its line feed but is not what was written there (its hash is wrong, it is JSON
  but no event, it does not follow the line before it in the chain);
- a bad line before a readable one of another group: that one was written later, so the bad one was once good.

Reading never repairs and never locks. A reader of a live log may see half a line, or lines of a group that the writer
then takes back because the disk was full; it reads on from the group's start in that case.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn

import orjson

from hooks.errors import CorruptRunError
from hooks.events.envelope import FIRST_PREV, BadLineError, DecodedLine, Event, decode
from hooks.regular_files import NotARegularFileError, open_regular
from hooks.storage.durable_files import not_our_file, storage_error

LONGEST_LINE = 64 * 1024 * 1024  # a bound for memory when the file is not a log at all
_CHUNK = 128 * 1024
_LINE_START = b'{"event_id":"'
# The last bytes of a line, with one of the two hashes unharmed: a flipped byte cannot make it look torn.
_WHOLE_END = re.compile(rb'(?:,"prev":"[0-9a-f]{64}".{75}\n|,"hash":"[0-9a-f]{64}"\}\n)\Z', re.DOTALL)
_WHOLE_BUT_FOR_LF = re.compile(rb',"hash":"[0-9a-f]{64}"\}[^\0\n]\Z')
_END_BYTES = 160


class Position(NamedTuple):
    """How far a log has been read: the end of the line of event `seq`, whose hash is `hash`."""

    offset: int
    seq: int
    hash: str
    group: int
    timestamp: int


START = Position(0, 0, FIRST_PREV, 0, 0)


class TornTail(NamedTuple):
    """A write that never returned: the bytes from `offset` on, `size` of them when they were looked at."""

    offset: int
    size: int


def read_log(path: Path) -> Iterator[Event]:
    """The committed events of the log at `path`, in order, in bounded memory. Raises CorruptRunError at damage."""
    return LogReader(path).stream()


def position_holds(path: Path, position: Position) -> bool:
    """Whether the log has the line of `position` where it says (a snapshot taken there is of this log)."""
    with _open(path) as file:
        return _is_at(file, position)


class LogReader:
    """Reads a log bit by bit, also while a driver writes it; each reading goes on where the last one ended.

    `position` is the end of what was read, `torn_tail` what the last complete reading found behind it.
    """

    def __init__(self, path: Path, *, run_id: str | None = None, position: Position = START) -> None:
        """`run_id` is checked on every line; without one the first line says it."""
        self.position = position
        self.torn_tail: TornTail | None = None
        self.run_id = run_id
        self._path = path
        self._group_start = position

    def read_new(self) -> list[Event]:
        """All events committed since the last reading; see `stream`."""
        return list(self.stream())

    def stream(self) -> Iterator[Event]:
        """The events committed since the last reading, one by one, checked against the chain.

        If the writer took back its last group (the disk was full) after it was read here, what replaced it comes with
        the same seqs again. Raises CorruptRunError at damage, after the good events before it.
        """
        self.torn_tail = None
        with _open(self._path) as file:
            self._rewind_if_taken_back(file)
            file.seek(self.position.offset)
            while line := file.readline(LONGEST_LINE):
                try:
                    decoded = _decode_terminated(line)
                except BadLineError as error:
                    self.torn_tail = self._judge_tail(file, line, error)
                    return
                event = decoded.event
                _, seq, last_hash, group, _ = position = self.position
                if event.seq != seq + 1:
                    why = BadLineError(f"seq {event.seq} stands where {seq + 1} is due")
                    self.torn_tail = self._judge_tail(file, line, why)
                    return
                if decoded.prev != last_hash:
                    self._refuse("`prev` is not the hash of the line before")
                if event.group != group:
                    if event.group != event.seq:
                        self._refuse(f"group {event.group} is neither that of the line before nor a new one")
                    self._group_start = position
                if decoded.run_id != self.run_id:
                    if self.run_id is not None:
                        self._refuse(f"an event of run {decoded.run_id} stands in the log of run {self.run_id}")
                    self.run_id = decoded.run_id
                self.position = Position(
                    position.offset + len(line), event.seq, decoded.hash, event.group, event.timestamp
                )
                yield event

    def _rewind_if_taken_back(self, file: BinaryIO) -> None:
        if not _is_at(file, self.position):
            if not _is_at(file, self._group_start):
                self._refuse("the log is no longer the one that was read before")
            self.position = self._group_start

    def _judge_tail(self, file: BinaryIO, first: bytes, why: BadLineError) -> TornTail:
        """What starts with the bad line `first` at our position: a torn write. Raises CorruptRunError if it is not."""
        if why.final:
            self._refuse(why.reason, fix=why.fix)
        start, seq, _, group, _ = self.position
        torn_groups = {group, seq + 1}
        offset, number, line = start, seq + 1, first
        while line:
            readable = _readable_part(line)
            if readable is not None:
                torn_groups &= {readable.event.group}
                if not torn_groups:
                    self._refuse(
                        f"{why.reason}, and line {number} belongs to a later write" if number > seq + 1 else why.reason
                    )
            elif _is_whole(line):
                self._refuse(why.reason)
            offset += len(line)
            number += 1
            if not line.endswith(b"\n") and len(line) < LONGEST_LINE:
                # The end of the file. More may be there by now, if a driver is writing: that is for the next reading.
                break
            line = file.readline(LONGEST_LINE)
        return TornTail(start, offset - start)

    def _refuse(self, reason: str, *, fix: str | None = None) -> NoReturn:
        line, byte = self.position.seq + 1, self.position.offset
        raise CorruptRunError(reason, file=str(self._path), line=line, byte=byte, fix=fix)


def _open(path: Path) -> BinaryIO:
    try:
        return open_regular(path, buffering=_CHUNK)
    except FileNotFoundError as error:
        raise CorruptRunError("the log is missing", file=str(path)) from error
    except NotARegularFileError as error:
        raise not_our_file(path, error) from error
    except OSError as error:
        raise storage_error("read", path, error) from error


def _is_at(file: BinaryIO, position: Position) -> bool:
    if position.seq == 0:
        return True
    end = b'%b"}\n' % position.hash.encode()
    start = position.offset - len(end)
    return start >= 0 and os.pread(file.fileno(), len(end), start) == end


def _decode_terminated(line: bytes) -> DecodedLine:
    if not line.endswith(b"\n"):
        raise BadLineError("this line has no end")
    return decode(line[:-1])


def _readable_part(line: bytes) -> DecodedLine | None:
    """The event in a line, also behind the remains of another one whose line feed was lost."""
    begin = max(line.rfind(_LINE_START), 0)
    try:
        return _decode_terminated(line[begin:])
    except BadLineError:
        return None


def _is_whole(line: bytes) -> bool:
    """Whether an unreadable line reaches its end unharmed by a torn write, so that it must have been damaged since."""
    if _WHOLE_BUT_FOR_LF.search(line[-_END_BYTES:]):
        return True
    if b"\0" in line or not line.endswith(b"\n"):
        return False
    return bool(_WHOLE_END.search(line[-_END_BYTES:])) or _is_json(line)


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except ValueError:
        return False
    return True
