from __future__ import annotations

import pytest

from hooks.errors import RunLockedError, StorageError
from hooks_cli.failures import as_hooks_error, worst


@pytest.mark.parametrize(
    ("codes", "code"),
    [([], 0), ([0, 0], 0), ([0, 6], 6), ([8, 4, 6], 4), ([3, 1], 1), ([1, 10], 10), ([10, 9], 9), ([9, 74, 70], 70)],
)
def test_several_runs_end_with_the_worst_code(codes: list[int], code: int) -> None:
    assert worst(codes) == code


def test_a_failing_system_call_is_the_disks_and_anything_unforeseen_is_ours() -> None:
    locked = RunLockedError("r", "somebody")

    assert as_hooks_error(locked) is locked
    assert isinstance(as_hooks_error(OSError(28, "No space left on device", "/x")), StorageError)
    assert as_hooks_error(OSError(28, "No space left on device", "/x")).message == "/x: No space left on device."
    assert as_hooks_error(ZeroDivisionError("x")).exit_code == 70
    assert "ZeroDivisionError: x" in as_hooks_error(ZeroDivisionError("x")).message
