#!/usr/bin/env python3
"""Stands in for a chat that drops what it gets twice: the line in `chat.log` carries the key of the call."""

import json
import os
import sys
from pathlib import Path

key = os.environ["HOOKS_IDEMPOTENCY_KEY"]
message = json.load(sys.stdin)
log = Path("chat.log")
if not log.exists() or key not in log.read_text():
    with log.open("a") as file:
        file.write(f"{message['channel']} {message['text']} ({key})\n")
json.dump({"delivered": True}, sys.stdout)
