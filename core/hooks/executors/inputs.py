"""Takes a bound input apart: what an executor's `input` may hold, with errors that name the place.

A place that may hold a secret has {"$secret": text} until the call is made: `prepare` keeps it as it is, and a call
whose text is still none then is refused by `filled_text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from hooks import jsonio
from hooks.definition.durations import parse_duration
from hooks.errors import JsonBorderError
from hooks.executors.base import InputError

TERMS = ("idempotent", "idempotency_ttl", "settle")
"""On which terms a call may be repeated; the same keys for every executor that takes them."""
_SECRET = "$secret"
_DEFAULT_TTL_MS = 24 * 3_600_000


def check_keys(resolved_input: Mapping[str, Any], known: Iterable[str], place: str = "input") -> None:
    """Refuse unknown keys, and values that JSON cannot carry unchanged."""
    names = sorted(known)
    for key in resolved_input:
        if key not in names and not key.startswith("x-"):
            close = get_close_matches(key, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}."
            raise InputError(f"{place}.{key}: unknown; {hint}")
    try:
        jsonio.check(resolved_input)
    except JsonBorderError as error:
        raise InputError(f"{place}: {error}") from error


def text_at(place: str, value: Any) -> str:
    """The value as text: numbers, true and false in their JSON form; what has no obvious text is refused."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return jsonio.canonical(value).decode()
    raise InputError(
        f"{place}: {_kind(value)} where text is expected; refer to a field of it, as in ${{node.output.x}}."
    )


def text_or_secret_at(place: str, value: Any) -> Any:
    """The value as text, or what stands for a secret as it is."""
    is_secret = isinstance(value, dict) and list(value) == [_SECRET] and isinstance(value[_SECRET], str)
    return value if is_secret else text_at(place, value)


def filled_text(place: str, value: Any) -> str:
    """The text that stands at a place of a call."""
    if not isinstance(value, str):
        raise InputError(f"{place}: {_kind(value)} where text is expected; no secret was filled in here.")
    return value


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


def object_at(place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{place}: {_kind(value)} where an object is expected.")
    return value


def duration_at(place: str, value: Any) -> int:
    """Milliseconds."""
    if isinstance(value, str):
        try:
            return parse_duration(value)
        except ValueError as error:
            raise InputError(f"{place}: {error}") from error
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise InputError(f"{place}: {value!r} is no duration; write it like 90s or 2h.")


def terms_at(resolved_input: Mapping[str, Any]) -> dict[str, Any]:
    """The canonical form of TERMS: those that hold, in milliseconds; a time to live only of what is idempotent."""
    terms: dict[str, Any] = {}
    if "settle" in resolved_input:
        terms["settle"] = duration_at("input.settle", resolved_input["settle"])
    ttl_ms = duration_at("input.idempotency_ttl", resolved_input.get("idempotency_ttl", _DEFAULT_TTL_MS))
    if flag_at("input.idempotent", resolved_input.get("idempotent", False)):
        terms |= {"idempotent": True, "idempotency_ttl": ttl_ms}
    return terms


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return "an object" if isinstance(value, dict) else f"{value!r}"
