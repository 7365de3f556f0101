"""`hooks verify RUN…`: is everything as it was written? Read only."""

from __future__ import annotations

from typing import Any

import msgspec

from hooks.errors import CorruptRunError
from hooks.runtime.reading import check_run
from hooks.storage.run_directory import RunDirectory
from hooks.storage.verify import Finding
from hooks_cli.options import All, AsJson, RunsDir, RunWords, runs_directory
from hooks_cli.render.documents import path_text
from hooks_cli.render.streams import emit, emit_json
from hooks_cli.render.text import neutralise
from hooks_cli.selection import any_run, select


def verify(runs: RunWords = None, every: All = False, runs_dir: RunsDir = None, as_json: AsJson = False) -> int:
    """Check the log (its hash chain, and that its events can follow each other), blobs, workflow and sidecars of runs.

    Exits 9 if something is damaged. --all means every run.
    """
    directories = select(runs_directory(runs_dir), runs, every=every, meant=any_run)
    documents = [_document(directory, check_run(directory)) for directory in directories]
    code = 0 if all(document["intact"] for document in documents) else CorruptRunError.exit_code
    if as_json:
        emit_json({"schema": "hooks.verify/1", "exit_code": code, "runs": documents})
    else:
        emit("".join(_text(document) for document in documents))
    return code


def _document(directory: RunDirectory, findings: list[Finding]) -> dict[str, Any]:
    return {
        "run_id": directory.run_id,
        "intact": all(finding.severity != "damage" for finding in findings),
        "directory": path_text(directory.path),
        "findings": [{**msgspec.to_builtins(finding), "text": str(finding)} for finding in findings],
    }


def _text(document: dict[str, Any]) -> str:
    lines = [f"{document['run_id']}: {'intact' if document['intact'] else 'damaged'}"]
    lines += [f"  {finding['severity']}: {neutralise(finding['text'])}" for finding in document["findings"]]
    return "".join(f"{line}\n" for line in lines)
