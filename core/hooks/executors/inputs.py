"""Takes a bound input apart: what an executor's `input` may hold, with errors that name the place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from hooks import jsonio
from hooks.errors import JsonBorderError
from hooks.executors.base import InputError


def check_keys(resolved_input: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse unknown keys, and values that JSON cannot carry unchanged."""
    names = sorted(known)
    for key in resolved_input:
        if key not in names and not key.startswith("x-"):
            close = get_close_matches(key, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}."
            raise InputError(f"input.{key}: unknown; {hint}")
    try:
        jsonio.check(resolved_input)
    except JsonBorderError as error:
        raise InputError(f"input: {error}") from error


def text_at(place: str, value: Any) -> str:
    """The value as text: numbers, true and false in their JSON form; what has no obvious text is refused."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return jsonio.canonical(value).decode()
    raise InputError(
        f"{place}: {_kind(value)} where text is expected; refer to a field of it, as in ${{node.output.x}}."
    )


def word_at(place: str, value: Any) -> str:
    """Text that the system takes as an argument or a path: without NUL."""
    text = text_at(place, value)
    if "\0" in text:
        raise InputError(f"{place}: {text[:80]!r} holds a NUL, which no argument or path can.")
    return text


def words_at(place: str, value: Any) -> list[str]:
    """A command as a list of its words."""
    if not isinstance(value, list) or not value:
        raise InputError(f"{place}: {_kind(value)} where a list of words is expected, as in [git, log].")
    words = [word_at(f"{place}[{index}]", word) for index, word in enumerate(value)]
    if not words[0]:
        raise InputError(f"{place}[0]: the program's name is empty.")
    return words


def flag_at(place: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{place}: {_kind(value)} where true or false is expected.")
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return "an object" if isinstance(value, dict) else f"{value!r}"
