"""What the guides tell to type works as it stands: their files are written, their commands run, their output compared.

A block whose first line is a comment with a file's name is that file; in a `console` block `$` is a command, and what
stands below it is what it prints.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
GUIDES = sorted(path.name for path in DOCS.glob("*.md") if "```console" in path.read_text(encoding="utf-8"))


def blocks(guide: str) -> list[tuple[str, str]]:
    text = (DOCS / guide).read_text(encoding="utf-8")
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def write_files(guide: str, place: Path) -> list[Path]:
    files = []
    for language, text in blocks(guide):
        name = re.match(r"# ([\w.]+)\n", text)
        if language != "console" and name is not None:
            files.append(place / name[1])
            files[-1].write_text(text, encoding="utf-8")
    return files


def commands(guide: str) -> list[tuple[str, str]]:
    """Each command with what it prints."""
    text = "".join(body for language, body in blocks(guide) if language == "console")
    return [(command, printed) for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)]


@pytest.mark.parametrize("guide", GUIDES)
def test_a_guide_does_what_it_says(guide: str, tmp_path: Path) -> None:
    write_files(guide, tmp_path)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    printed = [
        subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        for command, _ in commands(guide)
    ]

    assert [(done.args, done.stdout or done.stderr) for done in printed] == commands(guide)


def test_the_guide_to_embedding_is_typed(tmp_path: Path) -> None:
    files = write_files("embedding.md", tmp_path)
    programs = [file.name for file in files if file.suffix == ".py"]
    configuration = ["--strict", "--config-file", os.devnull, "--cache-dir", str(tmp_path / "cache")]

    told = subprocess.run(
        [sys.executable, "-m", "mypy", *configuration, *programs],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.returncode == 0, told.stdout
