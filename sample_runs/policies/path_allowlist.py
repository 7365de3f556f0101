#!/usr/bin/env python3
"""Only files below the directories named: what the file executor may write.

    policies/path_allowlist.py notes docs/generated

Directories are taken from the run's working directory. Where a path leads is looked up, links and `..` included, so
that `notes/../.bashrc`, or a link in `notes` to elsewhere, does not pass.
"""

import json
import os
import sys


def main() -> int:
    payload = json.load(sys.stdin)
    here = payload["cwd"]
    path = resolved(here, payload["input"]["path"])
    allowed = [resolved(here, directory) for directory in sys.argv[1:]]
    if any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in allowed):
        return 0
    print(f"{path} is not below {', '.join(allowed) or 'any directory: none is allowed'}", file=sys.stderr)
    return 2


def resolved(here: str, path: str) -> str:
    return os.path.realpath(os.path.join(here, path))


if __name__ == "__main__":
    sys.exit(main())
