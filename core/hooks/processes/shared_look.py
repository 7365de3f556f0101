"""One look at all processes for everybody who looks during one turn of the event loop.

When 64 attempts are cancelled at once, each looks for what is left of its tree, and a look reads hundreds of files. A
look of this turn may be some milliseconds old, which does no harm: a process that has come since descends from one that
the look shows, so a tree is never taken for empty that is not.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from hooks.processes.process_table import ProcessTable

# The only state of this module, and it lasts one turn: those who share know nothing of each other.
_this_turn: WeakKeyDictionary[asyncio.AbstractEventLoop, ProcessTable] = WeakKeyDictionary()


def look() -> ProcessTable:
    """The processes as they are in this turn of the running loop."""
    loop = asyncio.get_running_loop()
    table = _this_turn.get(loop)
    if table is None:
        table = _this_turn[loop] = ProcessTable()
        loop.call_soon(_this_turn.pop, loop, None)
    return table
