#!/usr/bin/env python3
"""Makes access.log: one afternoon of a small shop, with an outage of its checkout and a scanner. Always the same."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

LINES = 3_000
BEGIN = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)
OUTAGE = (BEGIN + timedelta(minutes=62), BEGIN + timedelta(minutes=71))
PAGES = {"/": 30, "/products": 24, "/products/{n}": 30, "/cart": 8, "/api/checkout": 6, "/static/app.js": 14}
SCANNED = ["/wp-login.php", "/.env", "/admin", "/phpmyadmin/", "/.git/config"]
AGENTS = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:124.0) Gecko/20100101 Firefox/124.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15",
    "Mozilla/5.0 (compatible; examplebot/2.1)",
]


def main() -> None:
    rng = random.Random(20260314)
    clients = [f"198.51.100.{n}" for n in range(1, 120)] + [f"203.0.113.{n}" for n in range(1, 80)]
    moment = BEGIN
    lines = []
    for _ in range(LINES):
        moment += timedelta(seconds=rng.expovariate(1 / 3.6))
        if rng.random() < 0.03:
            lines.append(entry(moment, "192.0.2.66", "GET", rng.choice(SCANNED), 404, 153, "-", "zgrab/0.x"))
            continue
        path = rng.choices(list(PAGES), list(PAGES.values()))[0].replace("{n}", str(rng.randint(1, 400)))
        method = "POST" if path.startswith("/api/") else "GET"
        status = outcome(rng, path, moment)
        size = 162 if status >= 400 else rng.randint(300, 48_000)
        referrer = rng.choice(["-", "https://shop.example.org/"])
        lines.append(entry(moment, rng.choice(clients), method, path, status, size, referrer, rng.choice(AGENTS)))
    Path(__file__).with_name("access.log").write_text("".join(lines), encoding="ascii")


def outcome(rng: random.Random, path: str, moment: datetime) -> int:
    if path == "/api/checkout" and OUTAGE[0] <= moment <= OUTAGE[1]:
        return rng.choices([502, 504, 200], [6, 3, 1])[0]
    return rng.choices([200, 304, 301, 404, 500], [800, 120, 40, 30, 3])[0]


def entry(
    moment: datetime, client: str, method: str, path: str, status: int, size: int, referrer: str, agent: str
) -> str:
    stamp = moment.strftime("%d/%b/%Y:%H:%M:%S +0000")
    return f'{client} - - [{stamp}] "{method} {path} HTTP/1.1" {status} {size} "{referrer}" "{agent}"\n'


if __name__ == "__main__":
    main()
