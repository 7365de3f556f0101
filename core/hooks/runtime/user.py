"""Who types the command."""

from __future__ import annotations

import getpass
import os


def user_name() -> str:
    """Who uses this: the user of the system, by number where it has no name, as in many containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
