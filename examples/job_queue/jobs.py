"""The other system: a queue of jobs in a SQLite file, which this program shares with its workers.

A job is known by its key. Submitting a key that is there already changes nothing, and a job is taken by one worker.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TABLE = """
CREATE TABLE IF NOT EXISTS jobs (
    key TEXT PRIMARY KEY, activity TEXT NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'queued', result TEXT
)
"""


@dataclass(frozen=True)
class Job:
    key: str
    kind: str
    payload: Any
    state: str
    """queued, taken, done, failed or revoked."""
    result: Any

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed", "revoked")


class JobQueue:
    """Every method is one transaction."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, timeout=60, isolation_level=None)
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute(_TABLE)

    def submit(self, key: str, activity: str, kind: str, payload: Any) -> None:
        self._database.execute(
            "INSERT INTO jobs (key, activity, kind, payload) VALUES (?, ?, ?, ?) "
            # A job that was revoked was never begun: asked for again, it stands in line again.
            "ON CONFLICT (key) DO UPDATE SET state = 'queued' WHERE state = 'revoked'",
            (key, activity, kind, json.dumps(payload)),
        )

    def find(self, key: str) -> Job | None:
        return self._one("SELECT key, kind, payload, state, result FROM jobs WHERE key = ?", key)

    def take(self) -> Job | None:
        """The next job, which is now the caller's."""
        return self._one(
            "UPDATE jobs SET state = 'taken' WHERE key = (SELECT key FROM jobs WHERE state = 'queued' LIMIT 1) "
            "RETURNING key, kind, payload, state, result"
        )

    def finish(self, key: str, state: str, result: Any) -> None:
        self._database.execute("UPDATE jobs SET state = ?, result = ? WHERE key = ?", (state, json.dumps(result), key))

    def revoke(self, key: str) -> None:
        """See to it that the job is not begun; one that a worker has taken goes on."""
        self._database.execute("UPDATE jobs SET state = 'revoked' WHERE key = ? AND state = 'queued'", (key,))

    def revoke_activities(self, activities: Iterable[str]) -> None:
        for activity in activities:
            self._database.execute(
                "UPDATE jobs SET state = 'revoked' WHERE activity = ? AND state = 'queued'", (activity,)
            )

    def _one(self, statement: str, *values: str) -> Job | None:
        rows = self._database.execute(statement, values).fetchall()
        if not rows:
            return None
        key, kind, payload, state, result = rows[0]
        return Job(key, kind, json.loads(payload), state, None if result is None else json.loads(result))
