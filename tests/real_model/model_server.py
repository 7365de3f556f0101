"""Serves the small model at a port of the loopback, a free one unless told, for the processes in DIRECTORY/users.

usage: model_server.py MODEL.gguf DIRECTORY [PORT]

Returns at once; DIRECTORY/url appears when the server answers, DIRECTORY/pid when it has begun. It ends by itself when
none of its users lives any more: test processes may be killed. One slot, one thread, no cache of prompts, so that the
same seed gives the same text.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from pathlib import Path


def main(model: str, directory: Path, port: int = 0) -> None:
    if os.fork():
        return
    os.setsid()
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.model_alias = {"smollm2"}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_ctx = 4096
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.n_gpu_layers = 0
    parameters.fit_params = False
    parameters.ui = False
    parameters.cache_prompt = False
    parameters.cache_ram_mib = 0
    server = xllamacpp.Server(parameters)
    (directory / "pid").write_text(str(os.getpid()))
    publish(directory / "url", server.listening_address)
    while is_used(directory):
        time.sleep(0.5)
    os._exit(0)


def publish(path: Path, text: str) -> None:
    """The file is there with all of its text, or not at all."""
    draft = path.with_suffix(".draft")
    draft.write_text(text)
    draft.rename(path)


def is_used(directory: Path) -> bool:
    """Whether a user lives; if none does, nobody finds the server any more once this returns."""
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if any(is_alive(int(user.name)) for user in (directory / "users").iterdir()):
            return True
        (directory / "url").unlink()
        return False


def is_alive(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
