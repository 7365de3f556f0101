#!/usr/bin/env python3
"""Stands in for a model that has to be told twice: what was wrong with an answer is in the next prompt."""

import json
import re
import sys


def main() -> None:
    prompt = sys.stdin.read()
    print(summary(prompt) if "Write a summary" in prompt else note(prompt))


def note(prompt: str) -> str:
    """One sentence, with its full stop only when that was missed."""
    functions = re.findall(r'^def (\w+)\(.*\n( +""")?', prompt, re.MULTILINE)
    bare = [name for name, docstring in functions if not docstring]
    stop = "." if "full stop" in prompt else ""
    return f"{', '.join(bare) or 'Nothing'} lacks a docstring{stop}"


def summary(prompt: str) -> str:
    notes = json.loads(prompt.split("Notes: ", 1)[1].splitlines()[0])
    comment = prompt.split("before: ", 1)[1].splitlines()[0]
    title = (
        "Docstrings" if "longer than" in prompt else f"Docstrings that are missing in {len(notes)} files of the shop"
    )
    body = " ".join(notes) if "Name the functions" in prompt else f"{len(notes)} files have something odd."
    return json.dumps({"title": title, "body": f"{body} ({comment})" if comment else body})


if __name__ == "__main__":
    main()
