#!/usr/bin/env python3
"""Stands in for a wiki: one file a page, with the key of the call in it, by which `--lookup` finds what was done."""

import json
import os
import re
import sys
from pathlib import Path

key = os.environ["HOOKS_IDEMPOTENCY_KEY"]
page = json.load(sys.stdin)
path = Path("wiki") / f"{re.sub('[^a-z0-9]+', '-', page['title'].lower())}.md"
if "--lookup" in sys.argv:
    if not path.is_file() or key not in path.read_text():
        sys.exit(1)
else:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"# {page['title']}\n\n{page['body']}\n\n<!-- {page['labels']} {key} -->\n")
json.dump({"path": str(path)}, sys.stdout)
