"""The child's side of an isolated call: `python -m hooks.executors.isolated`, with an IsolatedCall on stdin."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from hooks.executors.base import LookUp, Settled
from hooks.executors.function_calls import FunctionCall, Functions
from hooks.executors.isolated_answer import IsolatedCall, write_answer


async def _answer(call: IsolatedCall) -> Settled | LookUp:
    function_call = FunctionCall(call.reference, call.args, Path(call.base), call.key)
    if call.action == "look_up":
        return await Functions().look_up(function_call)
    return await Functions().execute(function_call)


def main() -> None:
    call = msgspec.json.decode(sys.stdin.buffer.read(), type=IsolatedCall)
    write_answer(Path(call.directory), asyncio.run(_answer(call)))


if __name__ == "__main__":
    main()
