#!/usr/bin/env python3
"""Stands in for a judge: a summary is useful if it names functions."""

import json
import sys

useful = "lacks a docstring" in sys.stdin.read()
reason = "It says what to change." if useful else "Name the functions that are meant."
print(json.dumps({"score": 0.9 if useful else 0.2, "reason": reason}))
