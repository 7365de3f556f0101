"""A worker: `python worker.py jobs.sqlite outbox.txt` takes jobs and does them, until it is told to stop.

It answers prompts (this one by shouting), and sends mail (to a file).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from jobs import Job, JobQueue


def do(job: Job, outbox: Path) -> Any:
    if job.kind == "prompt":
        return str(job.payload).upper()
    with outbox.open("a", encoding="utf-8") as file:
        file.write(f"{job.key} {job.payload['to']}: {job.payload['text']}\n")
    return {"sent": job.payload["to"]}


def main(queue: JobQueue, outbox: Path) -> None:
    while True:
        job = queue.take()
        if job is None:
            time.sleep(0.02)
        elif job.kind == "mail" and "@" not in job.payload["to"]:
            queue.finish(job.key, "failed", f"{job.payload['to']!r} is no address")
        else:
            queue.finish(job.key, "done", do(job, outbox))


if __name__ == "__main__":
    main(JobQueue(Path(sys.argv[1])), Path(sys.argv[2]))
