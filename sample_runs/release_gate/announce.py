#!/usr/bin/env python3
"""Stands in for a model: an announcement of the changes in the prompt, shorter when somebody asked for that."""

import json
import sys


def main() -> None:
    fields = dict(line.split(": ", 1) for line in sys.stdin.read().splitlines() if ": " in line)
    areas, changes = json.loads(fields["Areas"]), json.loads(fields["Changes"])
    is_short = "short" in fields.get("What was said about it", "")
    sections = [
        section(area, change["stdout"].splitlines(), is_short) for area, change in zip(areas, changes, strict=True)
    ]
    print("\n\n".join(sections))


def section(area: str, subjects: list[str], is_short: bool) -> str:
    if is_short:
        return f"**{area}**: {len(subjects)} changes, the last one: {subjects[0] if subjects else 'none'}"
    return "\n".join([f"## {area}", "", *(f"- {subject}" for subject in subjects or ["Nothing changed"])])


if __name__ == "__main__":
    main()
