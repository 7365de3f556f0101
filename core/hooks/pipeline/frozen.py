"""JSON that cannot be changed, so that one value can be shown to many hooks without a copy for each.

Frozen objects and lists are a dict and a list to whoever reads them (json, isinstance, `==`, `{**value}`); what would
change them raises, and what builds on them (`{**options, "x": 1}`, `[*requirements, extra]`, copy, pickle) gives
ordinary, mutable values.
"""

from __future__ import annotations

import copy
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


def _refuse(self: object, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError("a hook's payload cannot be changed in place; return modify(field=new value)")


class FrozenDict(dict[str, Any]):
    """A JSON object that refuses to be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: copy.deepcopy(value, memo) for key, value in self.items()}

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (dict(self),)

    def copy(self) -> dict[str, Any]:
        return dict(self)


class FrozenList(list[T]):
    """A list that refuses to be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __copy__(self) -> list[T]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[T]:
        return [copy.deepcopy(value, memo) for value in self]

    def __reduce__(self) -> tuple[type[list[T]], tuple[list[T]]]:
        return list, (list(self),)

    def copy(self) -> list[T]:
        return list(self)


def freeze(value: Any) -> Any:
    """The same JSON value, unchangeable all the way down; what is frozen already is taken as it is."""
    kind = type(value)
    if kind is dict:
        return FrozenDict((key, freeze(child)) for key, child in value.items())
    if kind is list:
        return FrozenList(map(freeze, value))
    return value


def thaw(value: Any) -> Any:
    """An ordinary copy of a JSON value."""
    if isinstance(value, dict):
        return {key: thaw(child) for key, child in value.items()}
    if isinstance(value, list):
        return [thaw(child) for child in value]
    return value
