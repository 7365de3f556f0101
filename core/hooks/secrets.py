"""Secrets: known values are put out of sight wherever they may have been printed.

A secret is known by its name and its value. What a command prints is not ours to choose, so what it printed is searched
for the value: as it is, each line of it, as JSON writes it, whatever is escaped there, and in base64, also where it
stands in the middle of what was encoded and is broken into lines. Each becomes `[secret NAME]`. This guards against
accidents, not against someone who means to print it.

A value shorter than 8 bytes would be found in innocent text: it is not searched for, and `unmasked_names` says so.
"""

from __future__ import annotations

import base64
import json
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from hooks.regular_files import NotARegularFileError, open_regular

SHORTEST = 8
"""Bytes a value, or a line of one, needs to be masked."""

READ_BYTES = 1 << 20
"""How much of a file is looked at at once."""
_BASE64_LINE = 76
_STRETCH = 6
"""How many times as long a form may be as it stands there: each character an escape, or lines of a few characters."""
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|\\/"
)
"""In JSON, one that need not be, or can be shorter; wherever it begins, for what stands before it may be no JSON."""
BASE64_BREAK = re.compile(rb"\r\n[ \t]*|\n[ \t]*|\\r\\n[ \t]*|\\n[ \t]*|\\(?=/)")
"""What may stand between two characters of base64: a line end, with what the next line is indented by, also as JSON
writes it; and what PHP puts before a `/`."""


class Masker:
    """Masks the values it is given, by name. Holds them, and shows them to nobody: its repr has the names alone."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._names = sorted(values)
        self.unmasked_names = short_names(values)
        self._in_bytes = _Replacement(Forms(values))
        # Only what is text can stand in text; and what is text is never found at a place that is none.
        self._in_text = _Replacement(Forms(values, keep=is_text))

    def __repr__(self) -> str:
        return f"Masker({', '.join(self._names)})"

    def mask(self, text: str) -> str:
        # Lone surrogates pass: what cannot be written as JSON is for others to refuse.
        return self._in_text.replace(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def mask_bytes(self, data: bytes) -> bytes:
        return self._in_bytes.replace(data)

    def mask_value(self, value: Any) -> Any:
        """The JSON value with every string in it masked, keys too."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, dict):
            return {self.mask(key): self.mask_value(child) for key, child in value.items()}
        if isinstance(value, list | tuple):
            return [self.mask_value(child) for child in value]
        return value

    def mask_file(self, path: Path) -> bool:
        """Rewrite the file without the values, and say whether it held any. No file, or what is none, is fine.

        Read in parts, so that memory stays bounded. A file that holds none is not touched; another is replaced as a
        whole, by one that has its mode, so that a crash leaves the old one or the new one.
        """
        try:
            with open_regular(path) as file:
                if not self._in_bytes.is_found_in(parts_of(file)):
                    return False
                file.seek(0)
                _replace_file(
                    path, self._in_bytes.replace_parts(parts_of(file)), os.fstat(file.fileno()).st_mode & 0o777
                )
        except (FileNotFoundError, NotARegularFileError):
            return False
        return True


class _Replacement:
    """Replaces what is found by the mark of its value; where several begin at one place, the longest."""

    def __init__(self, forms: Forms) -> None:
        self._forms = forms

    def replace(self, data: bytes) -> bytes:
        return b"".join(self.replace_parts([data]))

    def is_found_in(self, parts: Iterable[bytes]) -> bool:
        kept = b""
        for part in parts:
            window = kept + part
            if self._forms.is_in(window):
                return True
            kept = window[max(0, len(window) - self._forms.longest) :]
        return False

    def replace_parts(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        """What `replace` makes of the parts together, whatever their borders."""
        kept = b""
        for part in parts:
            window = kept + part if kept else part
            # What begins later than this may be cut off by the end of the window.
            cut = yield from self._replaced(window, max(0, len(window) - self._forms.longest))
            kept = window[cut:]
        yield from self._replaced(kept, len(kept))

    def _replaced(self, window: bytes, settled: int) -> Generator[bytes, None, int]:
        """The window up to `settled`, or to the end of what begins before it; returns where that is."""
        position = 0
        for found in sorted(self._forms.found_in(window), key=lambda found: (found.start, -found.end)):
            if found.start >= settled:
                break
            if found.start >= position:
                yield window[position : found.start]
                yield f"[secret {found.name}]".encode()
                position = found.end
        cut = max(position, settled)
        yield window[position:cut]
        return cut


@dataclass(frozen=True, slots=True)
class Found:
    """A place where a value is given away; `is_base64` where line ends may stand in it that are no part of it."""

    start: int
    end: int
    name: str
    is_base64: bool = False


class Forms:
    """Everything that is looked for, and the search for it.

    What can be written in many ways is not listed: the data are read as if there were one. Without the escapes that
    JSON can do without, for those who escape more than they must (PHP `/`, Go `&`, many all that is not ASCII); and
    without line ends for base64, which is broken anywhere. So the search stays one in C, for each form.
    """

    def __init__(self, values: Mapping[str, str], *, keep: Callable[[bytes], bool] = bool) -> None:
        """`keep` says which forms are looked for."""
        # A line of one value may be the whole of another, whose name then says more.
        plain = [(_raw(values[name]), name) for name in sorted(values)]
        long = [(value, name) for value, name in plain if len(value) >= SHORTEST]
        lines = [(line, name) for value, name in long for line in value.splitlines()]
        in_json = [(form, name) for text, name in [*long, *lines] if is_text(text) for form in _json_forms(text)]
        base64s = [(form, name) for value, name in long for form in _base64_forms(value)]
        base64_lines = [(form, name) for value, name in long for form in _base64_lines(value)]

        def sought(forms: Iterable[tuple[bytes, str]]) -> dict[bytes, str]:
            return {form: name for form, name in reversed([*forms]) if len(form) >= SHORTEST and keep(form)}

        self._anywhere = sought([*plain, *lines, *in_json, *base64s, *base64_lines])
        self._in_json = sought(in_json)
        self._in_base64 = sought(base64s)
        self.longest = _STRETCH * max(map(len, self._anywhere), default=0)
        """No more bytes has anything that is found."""

    def is_in(self, data: bytes) -> bool:
        return next(self.found_in(data), None) is not None

    def found_in(self, data: bytes) -> Iterator[Found]:
        """Every place, also where they overlap, in no order."""
        for form, name in self._anywhere.items():
            if form in data:
                yield from (Found(at, at + len(form), name) for at in _places(form, data))
        yield from self._found_as(data, _ESCAPE, _shortest_escape, self._in_json)
        yield from self._found_as(data, BASE64_BREAK, lambda _: b"", self._in_base64, is_base64=True)

    def _found_as(
        self,
        data: bytes,
        other: re.Pattern[bytes],
        one: Callable[[re.Match[bytes]], bytes],
        forms: Mapping[bytes, str],
        *,
        is_base64: bool = False,
    ) -> Iterator[Found]:
        """What is found in `data` read with `one` in place of each `other`."""
        if not forms or other.search(data) is None:
            return
        read = other.sub(one, data)
        where: _Places | None = None
        for form, name in forms.items():
            for at in _places(form, read) if form in read else ():
                where = where or _Places(data, other, one)
                start, end = where.of(at)[0], where.of(at + len(form) - 1)[1]
                if end - start <= _STRETCH * len(form):
                    yield Found(start, end, name, is_base64)


class _Places:
    """Where in the data stands what was found in them as they were read."""

    def __init__(self, data: bytes, other: re.Pattern[bytes], one: Callable[[re.Match[bytes]], bytes]) -> None:
        # Of each that was read otherwise: where it ends in both, and where it begins.
        self._read_ends, self._read_starts, self._starts, self._ends = [0], [0], [0], [0]
        for match in other.finditer(data):
            read_start = self._read_ends[-1] + match.start() - self._ends[-1]
            self._read_starts.append(read_start)
            self._read_ends.append(read_start + len(one(match)))
            self._starts.append(match.start())
            self._ends.append(match.end())

    def of(self, at: int) -> tuple[int, int]:
        """What was read as the byte at `at`."""
        last = bisect_right(self._read_ends, at) - 1
        if last + 1 < len(self._ends) and at >= self._read_starts[last + 1]:
            return self._starts[last + 1], self._ends[last + 1]
        start = self._ends[last] + at - self._read_ends[last]
        return start, start + 1


def short_names(values: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the values that are too short to be looked for."""
    return tuple(name for name in sorted(values) if 0 < len(_raw(values[name])) < SHORTEST)


def _raw(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


def is_text(form: bytes) -> bool:
    """Whether it can stand in a text at all."""
    with suppress(UnicodeDecodeError):
        form.decode()
        return True
    return False


def _places(form: bytes, data: bytes) -> Iterator[int]:
    at = data.find(form)
    while at >= 0:
        yield at
        at = data.find(form, at + 1)


def _shortest_escape(escape: re.Match[bytes]) -> bytes:
    return _shortest(escape.group())


@lru_cache(maxsize=4096)
def _shortest(escape: bytes) -> bytes:
    """What JSON needs at least for the character of an escape."""
    character = json.loads(b'"%s"' % escape)
    return json.dumps(character, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")


def _json_forms(text: bytes) -> Iterator[bytes]:
    """As JSON must at least write it; and that as it is read, should the text itself hold what looks like an escape."""
    written = json.dumps(text.decode(), ensure_ascii=False)[1:-1].encode()
    yield written
    yield _ESCAPE.sub(_shortest_escape, written)


def _base64_forms(value: bytes) -> Iterator[bytes]:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(value)
        for before in range(3):
            yield _inner_base64(value, before, encode)


def _inner_base64(value: bytes, before: int, encode: Callable[[bytes], bytes]) -> bytes:
    """The part of the base64 that is the same whatever stands around the value, `before` bytes (mod 3) in front of it.

    A character holds 6 bits; those at the borders that hold bits of a neighbour are left out.
    """
    encoded = encode(bytes(before) + value)
    first = (0, 2, 3)[before]
    beyond = (0, 3, 2)[(before + len(value)) % 3]
    return encoded[first : len(encoded) - beyond]


def _base64_lines(value: bytes) -> Iterator[bytes]:
    """The lines in which `base64` and mail write what is long, should one be seen without the others."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(value)
        if len(encoded) > _BASE64_LINE:
            for start in range(0, len(encoded), _BASE64_LINE):
                # The last characters depend on what follows the value, often a line end.
                is_last = start + _BASE64_LINE >= len(encoded)
                yield encoded[start:-4] if is_last else encoded[start : start + _BASE64_LINE]


def parts_of(file: BinaryIO) -> Iterator[bytes]:
    """The bytes of a file, a bounded number at a time."""
    while part := file.read(READ_BYTES):
        yield part


def _replace_file(path: Path, parts: Iterable[bytes], mode: int) -> None:
    draft = path.with_name(f".{path.name}.masked")
    draft.unlink(missing_ok=True)  # left by one that was killed
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.writelines(parts)
        draft.rename(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def environment_without(hidden: Collection[str]) -> dict[str, str]:
    """Our own environment less the secrets that whoever is started has no business with."""
    return {name: value for name, value in os.environ.items() if name not in hidden}
