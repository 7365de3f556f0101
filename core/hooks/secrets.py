"""Secrets: known values are put out of sight wherever they may have been printed.

A secret is known by its name and its value. What a command prints is not ours to choose, so what it printed is searched
for the value: as it is, each line of it, as JSON writes it, and in base64, also where it stands in the middle of what
was encoded. Each becomes `[secret NAME]`. This guards against accidents, not against someone who means to print it.

A value shorter than 8 bytes would be found in innocent text: it is not searched for, and `unmasked_names` says so.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from hooks.regular_files import NotARegularFileError, open_regular

SHORTEST = 8
"""Bytes a value, or a line of one, needs to be masked."""

READ_BYTES = 1 << 20
"""How much of a file is looked at at once."""
_BASE64_LINE = 76


class Masker:
    """Masks the values it is given, by name. Holds them, and shows them to nobody: its repr has the names alone."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._names = sorted(values)
        self.unmasked_names = short_names(values)
        marks = {form: f"[secret {name}]".encode() for form, name in forms_of(values).items()}
        self._in_bytes = _Replacement(marks)
        # Only what is text can stand in text; and what is text is never found at a place that is none.
        self._in_text = _Replacement({form: mark for form, mark in marks.items() if is_text(form)})

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
    """Replaces each of some texts by its mark; where several begin at one place, the longest."""

    def __init__(self, marks: Mapping[bytes, bytes]) -> None:
        self._marks = marks
        self._longest = max(map(len, marks), default=0)
        self._pattern = re.compile(b"|".join(map(re.escape, sorted(marks, key=len, reverse=True))))

    def replace(self, data: bytes) -> bytes:
        # Looking for each alone is a search in C, far faster than the pattern; and mostly there is nothing to find.
        if not self._is_in(data):
            return data
        return self._pattern.sub(lambda found: self._marks[found.group()], data)

    def _is_in(self, data: bytes) -> bool:
        return any(form in data for form in self._marks)

    def is_found_in(self, parts: Iterable[bytes]) -> bool:
        kept: bytes | None = None
        for part in parts:
            window = part if kept is None else kept + part
            if self._is_in(window):
                return True
            kept = window[max(0, len(window) - self._longest) :]
        return False

    def replace_parts(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        """What `replace` makes of the parts together, whatever their borders."""
        kept: bytes | None = None
        for part in parts:
            window = part if kept is None else kept + part
            # What begins later than this may be cut off by the end of the window.
            settled, position = max(0, len(window) - self._longest), 0
            for found in self._pattern.finditer(window) if self._is_in(window) else ():
                if found.start() >= settled:
                    break
                yield window[position : found.start()]
                yield self._marks[found.group()]
                position = found.end()
            cut = max(position, settled)
            yield window[position:cut]
            kept = window[cut:]
        if kept is not None:
            yield self.replace(kept)


def forms_of(values: Mapping[str, str]) -> dict[bytes, str]:
    """Everything that is looked for, each with the name of the value it gives away."""
    # A line of one value may be the whole of another, whose name then says more.
    forms = [(_raw(values[name]), name) for name in sorted(values)]
    forms += [(form, name) for value, name in forms for form in _derived_forms(value)]
    found: dict[bytes, str] = {}
    for form, name in forms:
        if len(form) >= SHORTEST:
            found.setdefault(form, name)
    return found


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


def _derived_forms(value: bytes) -> Iterator[bytes]:
    """Every other way in which the value is looked for; those that come out too short are left out by who asks."""
    if len(value) < SHORTEST:
        return
    for plain in (value, *value.splitlines()):
        yield plain
        if is_text(plain):
            yield json.dumps(plain.decode())[1:-1].encode()
            yield json.dumps(plain.decode(), ensure_ascii=False)[1:-1].encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(value)
        for before in range(3):
            yield _inner_base64(value, before, encode)
        yield from _base64_lines(encode(value))


def _inner_base64(value: bytes, before: int, encode: Callable[[bytes], bytes]) -> bytes:
    """The part of the base64 that is the same whatever stands around the value, `before` bytes (mod 3) in front of it.

    A character holds 6 bits; those at the borders that hold bits of a neighbour are left out.
    """
    encoded = encode(bytes(before) + value)
    first = (0, 2, 3)[before]
    beyond = (0, 3, 2)[(before + len(value)) % 3]
    return encoded[first : len(encoded) - beyond]


def _base64_lines(encoded: bytes) -> Iterator[bytes]:
    """The lines in which `base64` and mail write what is long."""
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
