"""Syncs by strace, of the command and all it starts: what one more plain step and one more effect cost.

    python bench/syncs.py

The rule: a plain step one; an effect five: its sidecar, the sidecar's directory, attempts/, the log before, the log
after. An effect on a file syncs that file as well. `tests/crash/test_syncs.py` holds the same rule without strace.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

from measuring import HOOKS, bench_directory, print_table

FEW, MANY = 2, 12
STEPS = {
    "agent step (command)": 'agent: cat, prompt: "go"',
    "read-only shell step": "executor: shell, read_only: true, input: {argv: ['true']}",
    "shell effect": "executor: shell, input: {argv: ['true']}",
    "file effect (append)": "executor: file, input: {path: kept.txt, mode: append, content: line}",
}


def syncs(directory: Path, step: str, number: int) -> Counter[str]:
    """How many syncs of each call a run of so many steps makes."""
    nodes = "".join(f"  n{i}: {{{step}, depends: [{f'n{i - 1}' if i else ''}]}}\n" for i in range(number))
    (directory / "workflow.yaml").write_text(
        f"workflow_id: syncs\nversion: 1\nagents: {{cat: {{kind: command, argv: [cat]}}}}\nnodes:\n{nodes}"
    )
    (directory / "runs").mkdir(exist_ok=True)
    (directory / "kept.txt").touch()
    trace = directory / "trace"
    traced = ["strace", "-f", "-o", str(trace), "-e", "trace=fsync,fdatasync,sync_file_range,syncfs,sync"]
    run = [*HOOKS, "run", "workflow.yaml", "-q", "--runs-dir", str(directory / "runs")]
    subprocess.run([*traced, *run], cwd=directory, check=True, capture_output=True)
    return Counter(re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE))


def main() -> None:
    if shutil.which("strace") is None:
        raise SystemExit("strace is not here; nothing was counted.")
    rows = [["one more …", "fdatasync", "fsync", "in all"]]
    for name, step in STEPS.items():
        with bench_directory() as directory:
            few, many = (syncs(directory, step, number) for number in (FEW, MANY))
        more = {call: (many[call] - few[call]) / (MANY - FEW) for call in many}
        rows.append([name, f"{more.get('fdatasync', 0):g}", f"{more.get('fsync', 0):g}", f"{sum(more.values()):g}"])
    print_table(*rows)


if __name__ == "__main__":
    main()
