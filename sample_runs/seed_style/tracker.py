#!/usr/bin/env python3
"""Stands in for an issue tracker: what was closed for the milestone named in the JSON document on stdin."""

import json
import sys

CLOSED = {
    "1.4": ["Doors open inwards again", "The hinge no longer squeaks"],
    "1.5": ["A door can be painted"],
}

milestone = json.load(sys.stdin)["milestone"]
if milestone not in CLOSED:
    sys.exit(f"there is no milestone {milestone}; there are {', '.join(CLOSED)}")
json.dump({"title": f"Milestone {milestone}", "closed": CLOSED[milestone]}, sys.stdout)
