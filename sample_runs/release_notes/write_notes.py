#!/usr/bin/env python3
"""Stands in for a model: sorts the commits of the prompt by their first word and prints release notes as JSON."""

import json
import re
import sys

SECTIONS = {
    "Added": {"add", "adds", "added", "new", "support", "introduce"},
    "Fixed": {"fix", "fixes", "fixed", "repair", "correct"},
    "Documentation": {"doc", "docs", "document", "readme", "changelog"},
}
COMMIT = re.compile(r"(?P<id>[0-9a-f]{7,40}) (?P<subject>.+)")


def section(subject: str) -> str:
    first = re.split(r"\W", subject.lower(), maxsplit=1)[0]
    return next((name for name, words in SECTIONS.items() if first in words), "Changed")


def main() -> None:
    commits = [match for line in sys.stdin if (match := COMMIT.fullmatch(line.rstrip("\n")))]
    parts = []
    for name in (*SECTIONS, "Changed"):
        lines = [f"- {commit['subject']} ({commit['id']})" for commit in commits if section(commit["subject"]) == name]
        if lines:
            parts.append("\n".join([f"### {name}", *lines]))
    noun = "change" if len(commits) == 1 else "changes"
    print(json.dumps({"title": f"{len(commits)} {noun}", "body": "\n\n".join(parts)}))


if __name__ == "__main__":
    main()
