"""Services and load runs in processes of their own: Locust patches sockets, and must not do so here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]
_KIT = (sys.executable, "-m", "isolation_kit.cli")


def environment() -> dict[str, str]:
    """The kit of this checkout, whatever is installed."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


@contextmanager
def serving(folder: Path, *command: str) -> Iterator[str]:
    """A server started with `command`; its URL stands in the first line that it prints."""
    with subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            url = next(word for word in line.split() if word.startswith("http://"))
            _reached(url)
            yield url
        finally:
            server.terminate()
            server.wait(20)


def _reached(url: str) -> None:
    for _ in range(100):
        try:
            urlopen(f"{url}/health", timeout=2).close()
        except OSError:
            time.sleep(0.05)
        else:
            return


def served(folder: Path, *options: str) -> Any:
    """`isolation-kit serve` on a free port."""
    return serving(folder, *_KIT, "serve", "--port", "0", *options)


def loaded(folder: Path, url: str, *options: str) -> tuple[int, dict[str, Any], str]:
    """`isolation-kit load`: its exit code, what load.json says, and what it printed."""
    return _run(folder, (*_KIT, "load", "--host", url, *options))


def swarmed(folder: Path, url: str, *options: str) -> tuple[int, dict[str, Any], str]:
    """The same with Locust's own command, for the folder's locustfile.py: six users for two seconds."""
    words = (sys.executable, "-m", "locust", "-f", "locustfile.py", "--headless", "--only-summary")
    return _run(folder, (*words, "-u", "6", "-r", "6", "-t", "2s", "--host", url, *options))


def _run(folder: Path, words: Sequence[str]) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    place = folder / ".isolation" / "load.json"
    told = json.loads(place.read_text("utf-8")) if place.exists() else {}
    return done.returncode, told, done.stdout + done.stderr
