"""Whatever a power cut leaves of a run that commands were moving: nothing is done twice, nothing acknowledged is lost,
and `recover --take-over` brings it to an end."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.disk_model import MODELS, ROOT, Change, Disk, Model, Name, Tree
from tests.crash.power_cuts import PowerCuts
from tests.crash.stories import Story, Telling
from tests.crash.test_stories import APPROVED, STORIES
from tests.executors.http_server import LocalServer, serving

_SAMPLED = 2


@pytest.fixture
def server() -> Iterator[LocalServer]:
    if shutil.which("strace") is None:
        pytest.skip("what a command asks of the disk is seen by strace, and there is none here")
    with serving() as local:
        yield local


@pytest.mark.parametrize("model", MODELS)
def test_a_sample_of_the_cuts(model: Model, server: LocalServer, tmp_path: Path) -> None:
    cuts = PowerCuts(Telling(APPROVED, tmp_path, server), model)
    sample = random.Random(model).sample(list(cuts.every_cut()), _SAMPLED)

    assert [problem for cut in sample if (problem := cuts.go_on_after(cut))] == []


@pytest.mark.sweep
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_every_cut(story: Story, model: Model, server: LocalServer, tmp_path: Path) -> None:
    cuts = PowerCuts(Telling(story, tmp_path, server), model)

    assert [problem for cut in list(cuts.every_cut()) if (problem := cuts.go_on_after(cut))] == []


@pytest.mark.parametrize("model", MODELS)
def test_the_model_loses_what_is_not_synced_and_only_that(model: Model) -> None:
    disk = Disk(Tree(), model)
    file = disk.make(directory=False)
    disk.change(Change("create", names=(Name(ROOT, "a", file),)))
    disk.change(Change("write", file=file, data=b"one"))
    disk.sync(file)
    disk.change(Change("write on", file=file, offset=3, data=b"two"))

    without_the_name = {()} if model == "any subset" else set()
    with_it = {(("a", b"one" + rest),) for rest in (b"", b"two", b"t", b"tw", b"\0\0\0")}
    assert _left(disk) == without_the_name | with_it

    disk.sync(ROOT)
    assert _left(disk) == with_it

    disk.sync(file)
    assert _left(disk) == {(("a", b"onetwo"),)}


def _left(disk: Disk) -> set[tuple[tuple[str, bytes | None], ...]]:
    return {tuple(tree.contents()) for _, tree in disk.cuts()}
