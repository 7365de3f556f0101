"""Values blotted out where they stand: every byte of one becomes `*`, so that sizes and offsets stay what they were.

What is looked for are the forms of `secrets.py`, overlapping ones too. In plain bytes that is all. In a JSON document
the texts and keys are blotted one by one, since a form may begin in the middle of an escape; a value that JSON writes
with its syntax in it (a key file kept as an object, a number) takes the smallest part that holds it along, as `*`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hooks.jsonio import canonical
from hooks.secrets import BASE64_BREAK, Forms, is_text

_BLOT = b"*"
_JSON_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[^u])")


class Blotter:
    """Blots out the values it is given, by name; shows them to nobody."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._names = sorted(values)
        # A value of nothing but `*` is out of sight as it is.
        self._forms = Forms(values, keep=_is_in_sight)
        self._text_forms = Forms(values, keep=lambda form: _is_in_sight(form) and is_text(form))

    def __repr__(self) -> str:
        return f"Blotter({', '.join(self._names)})"

    def is_in(self, data: bytes) -> bool:
        return self._forms.is_in(data)

    def is_in_json(self, data: bytes) -> bool:
        """Whether a value stands in a JSON document, as its texts say it or as the document is written."""
        return self.is_in(data) or (b"\\" in data and self.is_in(_JSON_ESCAPE.sub(_unescaped, data)))

    def blot(self, data: bytes) -> bytes:
        blotted = bytearray(data)
        _cover(blotted, data, self._forms)
        return bytes(blotted)

    def blot_text(self, text: str) -> str:
        data = text.encode("utf-8", "surrogateescape")
        blotted = bytearray(data)
        _cover(blotted, data, self._text_forms)
        return blotted.decode("utf-8", "surrogateescape")

    def blot_parts(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        """The same of what comes in parts, each holding back what the next one may complete."""
        kept, blotted_kept = b"", b""
        for part in parts:
            window = kept + part
            blotted = bytearray(blotted_kept + part)
            _cover(blotted, window, self._forms)
            settled = max(0, len(window) - self._forms.longest)
            yield bytes(blotted[:settled])
            kept, blotted_kept = window[settled:], bytes(blotted[settled:])
        yield blotted_kept

    def blot_json(self, value: Any) -> Any:
        """The JSON value with every text and key in it blotted, and whatever else would be written as one of them."""
        return self._collapsed(self._blotted(value))

    def _blotted(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.blot_text(value)
        if isinstance(value, list):
            return [self._blotted(child) for child in value]
        if isinstance(value, dict):
            keys = {key: self.blot_text(key) for key in value}
            taken = {key for key, blotted in keys.items() if key == blotted}
            return {
                key if key == keys[key] else unused(keys[key], taken): self._blotted(child)
                for key, child in value.items()
            }
        return value

    def _collapsed(self, value: Any) -> Any:
        if not self.is_in_json(canonical(value)):
            return value
        if isinstance(value, list):
            value = [self._collapsed(child) for child in value]
        elif isinstance(value, dict):
            value = {key: self._collapsed(child) for key, child in value.items()}
        written = canonical(value)
        return "*" * (len(written) - 2) if self.is_in_json(written) else value


def unused(name: str, taken: set[str]) -> str:
    """`name`, or one of its length that is in nobody's way: two names may become the same. It is taken from now on."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name[: -len(str(number))]}{number}"
    taken.add(found)
    return found


def _is_in_sight(form: bytes) -> bool:
    return bool(form.strip(_BLOT))


def _unescaped(escape: re.Match[bytes]) -> bytes:
    """What an escape in a JSON document means."""
    try:
        text: str = json.loads(b'"%s"' % escape.group())
    except ValueError:
        return escape.group()
    return text.encode("utf-8", "surrogatepass")


def _cover(blotted: bytearray, data: bytes, forms: Forms) -> None:
    """Blot whatever is found in `data`, also where it overlaps; lines of base64 stay lines."""
    for found in forms.found_in(data):
        covered, position = bytearray(_BLOT * (found.end - found.start)), found.start
        for kept in BASE64_BREAK.finditer(data, found.start, found.end) if found.is_base64 else ():
            covered[kept.start() - position : kept.end() - position] = kept.group()
        blotted[found.start : found.end] = covered
