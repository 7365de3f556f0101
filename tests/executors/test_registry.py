from __future__ import annotations

import pytest

from hooks.errors import UsageError
from hooks.executors.registry import EXECUTORS, make_executor


def test_every_name_has_its_executor() -> None:
    assert {name: type(make_executor(name)) for name in EXECUTORS} == EXECUTORS


def test_an_unknown_name_is_answered_with_a_close_one() -> None:
    with pytest.raises(UsageError, match="'shel'") as caught:
        make_executor("shel")
    assert caught.value.fix == "Did you mean 'shell'?"
