"""What a file holds, compared with what it held before a call: by the bytes alone, whether the call happened."""

from __future__ import annotations

import hashlib
from io import BufferedReader
from pathlib import Path

from hooks.regular_files import NotARegularFileError, open_regular


class NotAFileError(Exception):
    """Something is there that holds no bytes to compare."""


def file_state(path: Path) -> tuple[int, str | None]:
    """Length and sha256 of the file; 0 and None if there is none. Raises NotAFileError, OSError."""
    try:
        with _open(path) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return file.tell(), digest
    except (FileNotFoundError, NotADirectoryError):
        return 0, None


def was_written(path: Path, content: bytes, prior_sha256: str | None) -> bool | None:
    """True: the file holds the content. False: it is as it was."""
    _, now = file_state(path)
    if now == hashlib.sha256(content).hexdigest():
        return True
    return False if now == prior_sha256 else None


def was_appended(path: Path, content: bytes, offset: int, prior_sha256: str | None) -> bool | None:
    """True: our bytes stand at their offset behind what was there. False: the file is as it was.

    Raises NotAFileError, OSError.
    """
    if not path.exists():
        return False if prior_sha256 is None else None
    with _open(path) as file:
        head = hashlib.sha256()
        left = offset
        while left and (part := file.read(min(left, 1 << 20))):
            head.update(part)
            left -= len(part)
        if left or (prior_sha256 is not None and head.hexdigest() != prior_sha256):
            return None
        tail = file.read(len(content) + 1)
    if not tail:
        return not content
    return True if tail[: len(content)] == content else None


def _open(path: Path) -> BufferedReader:
    try:
        return open_regular(path, follow_links=True)
    except NotARegularFileError as error:
        kind = "a directory; name a file in it" if path.is_dir() else "no regular file"
        raise NotAFileError(f"{path} is {kind}.") from error
