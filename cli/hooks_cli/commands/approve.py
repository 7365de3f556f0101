"""`hooks approve RUN [NODE]`: yes to what stands at a gate."""

from __future__ import annotations

from hooks_cli.answering import Reply, answer
from hooks_cli.options import AsJson, By, Comment, Digest, OptionalNodeWord, Quiet, RequestTimeout, RunsDir, RunWord


def approve(
    run: RunWord,
    node: OptionalNodeWord = None,
    comment: Comment = "",
    by: By = None,
    digest: Digest = None,
    timeout: RequestTimeout = "30s",
    quiet: Quiet = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Approve what a run waits at a gate for: it goes on with exactly that.

    It is durable when this returns, and starts no work: a driver that is there goes on, else `hooks recover` does.
    """
    return answer(run, node, Reply(True, by, comment, digest, timeout), runs_dir=runs_dir, quiet=quiet, as_json=as_json)
