"""Values blotted out where they stand: every byte of one becomes `*`, so that sizes and offsets stay what they were.

What is looked for are the forms of `secrets.py`, overlapping ones too. In plain bytes that is all. In a JSON document
the texts and keys are blotted one by one, since a form may begin in the middle of an escape; a value that JSON writes
with its syntax in it (a key file kept as an object, a number) takes the smallest part that holds it along, as `*`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hooks.jsonio import canonical
from hooks.secrets import forms_of, is_text

_BLOT = b"*"
_LONG_STEP = 4096


class Blotter:
    """Blots out the values it is given, by name; shows them to nobody."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._names = sorted(values)
        # A value of nothing but `*` is out of sight as it is.
        self._forms = [form for form in forms_of(values) if form.strip(_BLOT)]
        self._text_forms = [form for form in self._forms if is_text(form)]
        escaped = [json.dumps(form.decode(), ensure_ascii=False)[1:-1].encode() for form in self._text_forms]
        self._json_forms = list(dict.fromkeys([*self._forms, *escaped]))
        self._periods = {form: _period(form) for form in self._forms}
        self._longest = max(map(len, self._forms), default=1)

    def __repr__(self) -> str:
        return f"Blotter({', '.join(self._names)})"

    def is_in(self, data: bytes) -> bool:
        return any(form in data for form in self._forms)

    def is_in_json(self, data: bytes) -> bool:
        """Whether a value stands in a JSON document, as its texts say it or as the document is written."""
        return any(form in data for form in self._json_forms)

    def _cover(self, blotted: bytearray, data: bytes, forms: Iterable[bytes]) -> None:
        """Blot every occurrence of `forms` in `data`, also where they overlap."""
        for form in forms:
            period = self._periods[form]
            # Where a form that overlaps itself goes on and on (`aaaa` in a million of `a`), step by step is too slow.
            step = form[:period] * (_LONG_STEP // period)
            at = data.find(form)
            while at >= 0:
                begin = at
                while step and data.startswith(step + form, at):
                    at += len(step)
                end = at + len(form)
                blotted[begin:end] = _BLOT * (end - begin)
                at = data.find(form, at + period)

    def blot(self, data: bytes) -> bytes:
        blotted = bytearray(data)
        self._cover(blotted, data, self._forms)
        return bytes(blotted)

    def blot_text(self, text: str) -> str:
        data = text.encode("utf-8", "surrogateescape")
        blotted = bytearray(data)
        self._cover(blotted, data, self._text_forms)
        return blotted.decode("utf-8", "surrogateescape")

    def blot_parts(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        """The same of what comes in parts, each holding back what the next one may complete."""
        kept, blotted_kept = b"", b""
        for part in parts:
            window = kept + part
            blotted = bytearray(blotted_kept + part)
            self._cover(blotted, window, self._forms)
            settled = max(0, len(window) - self._longest + 1)
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
        written = canonical(value)
        if not self.is_in(written):
            return value
        if isinstance(value, list):
            value = [self._collapsed(child) for child in value]
        elif isinstance(value, dict):
            value = {key: self._collapsed(child) for key, child in value.items()}
        written = canonical(value)
        return "*" * (len(written) - 2) if self.is_in(written) else value


def unused(name: str, taken: set[str]) -> str:
    """`name`, or one of its length that is in nobody's way: two names may become the same. It is taken from now on."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name[: -len(str(number))]}{number}"
    taken.add(found)
    return found


def _period(form: bytes) -> int:
    """The least distance at which the form may stand twice, overlapping itself; its length, where it cannot."""
    return next(distance for distance in range(1, len(form) + 1) if form.startswith(form[distance:]))
