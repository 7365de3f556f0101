"""`python main.py start RUN TO`, `recover RUN`, `cancel RUN`: runs whose work is done by the workers of a job queue.

All of it is kept in the directory it is started in.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from dispatch import JobQueueHooks
from jobs import JobQueue

from hooks import (
    HooksError,
    RunReport,
    cancel,
    find_run,
    load_workflow,
    recover,
    resolve_params,
    run_loop,
    start_run,
)

SOURCE = Path(__file__).parent


async def start(run_id: str, to: str, here: Path) -> RunReport:
    workflow = load_workflow(SOURCE / "workflow.yaml", agents=["writer"], executors=["mail"])
    with start_run(
        workflow,
        resolve_params(workflow, file_values={"to": to}, environ={}),
        runs_dir=here / "runs",
        workflow_directory=SOURCE,
        working_directory=here,
        initiator="main.py",
        run_id=run_id,
    ) as run:
        return await run_loop(run, implementation=_hooks(here))


def _hooks(here: Path) -> JobQueueHooks:
    return JobQueueHooks(JobQueue(here / "jobs.sqlite"))


def main(words: list[str]) -> int:
    here = Path.cwd()
    try:
        match words:
            case ["start", run_id, to]:
                report = asyncio.run(start(run_id, to, here))
            case ["recover", run_id]:
                report = asyncio.run(recover(find_run(here / "runs", run_id), implementation=_hooks(here)))
            case ["cancel", run_id]:
                report = asyncio.run(cancel(find_run(here / "runs", run_id), implementation=_hooks(here)))
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except HooksError as error:
        print(error.message, error.fix or "", file=sys.stderr)
        return error.exit_code
    print(json.dumps({"status": report.status.status, "output": report.output()}))
    return report.status.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
