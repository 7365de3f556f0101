"""The threads that synchronous hooks are asked in."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from hooks.pipeline.hook_threads import HookThreads, Job

A_WHILE_S = 30.0


async def done(job: Job) -> bool:
    return job.is_done_at_once() or await job.is_done_within(A_WHILE_S)


def noting_its_thread(seen: list[threading.Thread]) -> Callable[[], None]:
    return lambda: seen.append(threading.current_thread())


def test_one_thread_does_one_job_after_another() -> None:
    async def ask_twice() -> list[threading.Thread]:
        threads, seen = HookThreads(), list[threading.Thread]()
        for _ in range(2):
            assert await done(threads.begin(noting_its_thread(seen)))
        threads.close()
        return seen

    first, second = asyncio.run(ask_twice())

    assert first is second is not threading.main_thread()
    assert first.daemon


def test_a_job_that_does_not_end_keeps_its_thread_and_the_next_has_another() -> None:
    release, seen = threading.Event(), list[threading.Thread]()

    def hang() -> None:
        seen.append(threading.current_thread())
        release.wait(A_WHILE_S)

    async def ask_around_one_that_hangs() -> tuple[bool, bool]:
        threads = HookThreads()
        hanging = threads.begin(hang)
        ended_at_once = hanging.is_done_at_once()
        assert await done(threads.begin(noting_its_thread(seen)))
        threads.close()
        release.set()
        return ended_at_once, await hanging.is_done_within(A_WHILE_S)

    ended_at_once, ended_later = asyncio.run(ask_around_one_that_hangs())

    assert (ended_at_once, ended_later) == (False, True)
    assert seen[0] is not seen[1]


def test_closed_no_thread_is_left_once_its_job_is_done() -> None:
    release, seen = threading.Event(), list[threading.Thread]()

    def hang() -> None:
        seen.append(threading.current_thread())
        release.wait(A_WHILE_S)

    async def close_while_one_is_at_work() -> None:
        threads = HookThreads()
        hanging = threads.begin(hang)
        assert await done(threads.begin(noting_its_thread(seen)))
        threads.close()
        release.set()
        await hanging.is_done_within(A_WHILE_S)

    asyncio.run(close_while_one_is_at_work())

    for thread in seen:
        thread.join(A_WHILE_S)
    assert not any(thread.is_alive() for thread in seen)


def test_what_a_job_raises_is_raised_where_it_is_waited_for() -> None:
    def fail() -> None:
        raise SystemExit("no")

    async def ask() -> None:
        threads = HookThreads()
        try:
            await done(threads.begin(fail))
        finally:
            threads.close()

    with pytest.raises(SystemExit, match="no"):
        asyncio.run(ask())
