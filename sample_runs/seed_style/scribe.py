#!/usr/bin/env python3
"""Stands in for a model: turns the prompt on stdin into a page, and heeds what was said about the last draft."""

import json
import re
import sys

prompt = sys.stdin.read()
announced = re.search(r"Announce (?P<title>.*?): (?P<closed>\[.*\])", prompt)
if announced is None:
    sys.exit("the prompt does not say what to announce")
body = "\n".join(f"- {change}" for change in json.loads(announced["closed"]))
comment = prompt.rpartition("What was said about it: ")[2].strip()
json.dump({"title": announced["title"], "body": f"{comment}\n{body}" if comment else body}, sys.stdout)
