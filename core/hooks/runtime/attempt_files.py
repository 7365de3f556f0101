"""An attempt's directory, and effect-input.json in it: what an effect will be executed from.

Canonical JSON of {cwd, env, executor, input, secrets}, without a final newline; inputHash is the sha256 of its bytes.
`secrets` lists the JSON pointers, into this document, of the places where a secret is put in when the call is made; no
secret stands in it. The call is made from these bytes only, so that what a later driver finds is exactly what was done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import orjson

from hooks.events.payloads import FileLeft
from hooks.expressions.secrets import fill_secrets
from hooks.jsonio import canonical
from hooks.regular_files import open_regular, read_regular
from hooks.storage.durable_files import Durability, storage_error, sync_directory, write_new_file

FILE_NAME = "effect-input.json"


def files_left(directory: Path) -> dict[str, FileLeft]:
    """Every file an attempt has left, by its place below the directory; the sidecar has its own hash.

    What cannot be read is not told of: that an attempt is over must not depend on it.
    """
    files = {}
    for place in files_below(directory):
        with suppress(OSError), open_regular(directory / place) as file:
            files[place] = FileLeft(sha256=file_digest(file, "sha256").hexdigest(), bytes=file.tell())
    return files


def files_below(directory: Path, prefix: str = "") -> Iterator[str]:
    """The plain files of an attempt, by their places below its directory and in order, but for the sidecar."""
    try:
        entries = sorted(os.scandir(directory / prefix), key=lambda entry: entry.name)
    except OSError:
        return  # most attempts leave nothing, and have no directory
    for entry in entries:
        place = f"{prefix}{entry.name}"
        if entry.is_dir(follow_symlinks=False) and not prefix:
            yield from files_below(directory, f"{place}/")
        elif entry.is_file(follow_symlinks=False) and place != FILE_NAME:
            yield place


@dataclass(frozen=True, slots=True)
class EffectInput:
    """The bytes of a sidecar and what they say."""

    data: bytes

    @property
    def hash(self) -> str:
        return sha256(self.data).hexdigest()

    @property
    def input(self) -> Any:
        """The canonical input, secrets left out."""
        return orjson.loads(self.data)["input"]

    def filled(self, environ: Mapping[str, str]) -> FilledInput:
        """What the call is made from, secrets put in. Raises MissingSecretError."""
        document = orjson.loads(self.data)
        filled = fill_secrets(document, document["secrets"], environ)
        return FilledInput(filled["input"], filled["env"])


@dataclass(frozen=True, slots=True)
class FilledInput:
    """An input and environment with their secrets. Lives in memory alone."""

    input: Any
    environment: dict[str, str]


def make_effect_input(
    executor: str,
    canonical_input: dict[str, Any],
    *,
    cwd: str,
    env: Mapping[str, Any],
    input_secrets: Sequence[str],
    env_secrets: Sequence[str],
) -> EffectInput:
    """The sidecar of a call; the pointers are into input and env."""
    secrets = [*(f"/input{pointer}" for pointer in input_secrets), *(f"/env{pointer}" for pointer in env_secrets)]
    document = {"cwd": cwd, "env": dict(env), "executor": executor, "input": canonical_input, "secrets": secrets}
    return EffectInput(canonical(document))


def write_effect_input(directory: Path, effect_input: EffectInput, durability: Durability) -> None:
    """Make the attempt's directory with the sidecar in it; file, directory and its parent are durable on return.

    A sidecar that a crash left there was followed by no effectAttempted, so nobody has acted on it: it is replaced.
    """
    path = directory / FILE_NAME
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
    except OSError as error:
        raise storage_error("make", path, error) from error
    write_new_file(path, effect_input.data, durability)
    sync_directory(directory, durability)
    sync_directory(directory.parent, durability)


def read_effect_input(directory: Path, expected_hash: str) -> tuple[EffectInput | None, str]:
    """The sidecar, or None and the reason it cannot be used: MissingEffectInput or EffectInputHashMismatch."""
    try:
        effect_input = EffectInput(read_regular(directory / FILE_NAME))
    except OSError:
        return None, "MissingEffectInput"
    if effect_input.hash != expected_hash:
        return None, "EffectInputHashMismatch"
    return effect_input, ""
