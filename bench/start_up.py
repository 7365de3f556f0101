"""CPU from the start of a command to its end, as multiples of a bare `python -c pass`.

    python bench/start_up.py

The run has one step that does nothing, so that its figure is an upper bound of what `run` takes to its first step.
"""

from __future__ import annotations

import sys

from measuring import HOOKS, bench_directory, least_cpu_ms, print_table


def main() -> None:
    with bench_directory() as directory:
        (directory / "run.yaml").write_text(
            "workflow_id: one\nversion: 1\nnodes:\n"
            "  first: {executor: shell, read_only: true, input: {argv: ['true']}}\n"
        )
        runs = ["--runs-dir", str(directory / "runs")]
        commands = {
            "`python -c pass`": [sys.executable, "-c", "pass"],
            "`hooks --version`": [*HOOKS, "--version"],
            "`hooks --help`": [*HOOKS, "--help"],
            "`hooks validate run.yaml`": [*HOOKS, "validate", "run.yaml"],
            "`hooks run run.yaml`, one step, to its end": [*HOOKS, "run", "run.yaml", "-q", *runs],
            "`hooks ls`, 15 runs": [*HOOKS, "ls", *runs],
            "`hooks show last`": [*HOOKS, "show", "last", *runs],
        }
        costs = {name: least_cpu_ms(argv, directory) for name, argv in commands.items()}
    bare = costs["`python -c pass`"]
    print_table(
        ["command", "CPU, ms", "times bare python"],
        *([name, f"{cost:.0f}", f"{cost / bare:.1f}"] for name, cost in costs.items()),
    )


if __name__ == "__main__":
    main()
