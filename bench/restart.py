"""`kill -9` in the middle of 1,000 steps: how long after its start `hooks recover` records the next event.

python bench/restart.py
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from measuring import HOOKS, bench_directory, print_table

TIMES = 10
WORKFLOW = """\
workflow_id: thousand
version: 1
agents: {echo: {kind: python, callable: "echo.py:answer"}}
nodes:
""" + "".join(
    f"  n{number}: {{agent: echo, prompt: go, depends: [{f'n{number - 1}' if number else ''}]}}\n"
    for number in range(1_000)
)


def continues_after_ms(directory: Path) -> float:
    """Milliseconds from the start of `recover` to the first event it records."""
    (directory / "echo.py").write_text("async def answer(prompt):\n    return 'done'\n")
    (directory / "workflow.yaml").write_text(WORKFLOW)
    log = directory / "runs" / "run" / "events.jsonl"
    words = ["-q", "--runs-dir", str(directory / "runs")]
    run = subprocess.Popen([*HOOKS, "run", "workflow.yaml", "--run-id", "run", *words], cwd=directory)
    while not log.exists() or log.stat().st_size < 1_500_000:
        time.sleep(0.001)
    run.kill()
    run.wait()
    events = len(log.read_bytes().splitlines())
    begin = time.time() * 1000
    subprocess.run([*HOOKS, "recover", "run", *words], cwd=directory, check=True, stdout=subprocess.DEVNULL)
    resumed = json.loads(log.read_bytes().splitlines()[events])
    assert resumed["type"] == "resumeStarted", resumed["type"]
    return float(resumed["timestamp"]) - begin


def main() -> None:
    taken = []
    for _ in range(TIMES):
        with bench_directory() as directory:
            taken.append(continues_after_ms(directory))
    taken.sort()
    print_table(
        ["restarts", "least, ms", "median, ms", "most, ms"],
        [str(TIMES), f"{taken[0]:.0f}", f"{taken[TIMES // 2]:.0f}", f"{taken[-1]:.0f}"],
    )


if __name__ == "__main__":
    main()
