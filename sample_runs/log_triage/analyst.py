#!/usr/bin/env python3
"""Stands in for a model: reads the tables and lines of the prompt and prints a summary as JSON."""

import json
import re
import sys
from collections import Counter

Table = list[tuple[int, str]]


def table(prompt: str, title: str) -> Table:
    body = prompt.partition(f"{title}:\n")[2].partition("\n\n")[0]
    return [(int(match[1]), match[2]) for match in re.finditer(r"^(\d+) (\S+)$", body, re.MULTILINE)]


def clients(prompt: str, title: str) -> Table:
    lines = prompt.partition(f"{title}:\n")[2].splitlines()
    counts = Counter(line.split()[0] for line in lines if line)
    return [(count, client) for client, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]]


def judge(errors: int, total: int) -> str:
    if errors * 200 > total:
        return "incident"
    return "notice" if errors else "ok"


def rows(title: str, counts: Table) -> str:
    return "\n".join([f"## {title}", "", *(f"- {name}: {count}" for count, name in counts), ""])


def main() -> None:
    prompt = sys.stdin.read()
    statuses = table(prompt, "Requests by status")
    failures = table(prompt, "Server errors by path")
    refused = clients(prompt, "Requests for what is not there")
    total = sum(count for count, _ in statuses)
    errors = sum(count for count, status in statuses if status.startswith("5"))
    worst = f", most of them at {failures[0][1]}" if failures else ""
    headline = f"{errors} of {total} requests failed{worst}"
    parts = [f"# {headline}", ""]
    parts += [rows("Requests by status", statuses), rows("Server errors by path", failures)]
    parts += [rows("Clients that ask for what is not there", refused)]
    print(json.dumps({"severity": judge(errors, total), "headline": headline, "report": "\n".join(parts)}))


if __name__ == "__main__":
    main()
