"""Entries by name, and whether a process is gone."""

from __future__ import annotations

import time
from pathlib import Path

import hostile_children

ENTRIES = {
    name: f"hostile_children:{name}"
    for name, value in vars(hostile_children).items()
    if callable(value) and getattr(value, "__module__", "") == "hostile_children"
}


def gone(pid: int, seconds: float = 3) -> bool:
    """True once no process has this pid, or what has it is dead and waits to be reaped by somebody else."""
    end = time.monotonic() + seconds
    while True:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
