"""The largest resident set of a command: a step that prints 1 GB, and a log of 100,000 events.

python bench/memory.py
"""

from __future__ import annotations

from measuring import HOOKS, bench_directory, chain, cost_of, print_table, start

from hooks.runtime.driving import drive

LOUD = """\
workflow_id: loud
version: 1
nodes:
  loud: {executor: shell, read_only: true, input: {script: "head -c 1000000000 /dev/zero"}}
"""
SMALL = """\
workflow_id: small
version: 1
nodes:
  small: {executor: shell, read_only: true, input: {argv: [echo, hello]}}
"""


def main() -> None:
    rows = [["command", "largest RSS, MB"]]
    with bench_directory() as directory:
        runs = ["--runs-dir", str(directory / "runs")]
        for name, text in (("a step that prints a word", SMALL), ("a step that prints 1 GB", LOUD)):
            (directory / "workflow.yaml").write_text(text)
            cost = cost_of([*HOOKS, "run", "workflow.yaml", "-q", *runs], directory)
            rows.append([f"`hooks run`, {name}", f"{cost.max_rss_mb:.0f}"])
    with bench_directory() as directory:
        with start(chain(14_300), directory, durability="relaxed") as run:
            drive(run)
        for words in (["show", "run"], ["ls"], ["recover", "run"], ["verify", "run"], ["tail", "run", "--no-follow"]):
            cost = cost_of([*HOOKS, *words, "--runs-dir", str(directory / "runs")], directory)
            rows.append([f"`hooks {' '.join(words)}`, 100,000 events of 14,300 nodes", f"{cost.max_rss_mb:.0f}"])
    print_table(*rows)


if __name__ == "__main__":
    main()
