"""pytest without --isolation in an empty project: plugin loaded and blocked, in turn, ten times each."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_PLUGIN = "isolation_kit.pytest_plugin"
_LOUD = ("hypothesis", "jsonschema", "httpx", "jinja2", "uvicorn")


def once(folder: Path, *options: str) -> float:
    """Milliseconds of one run."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options], cwd=folder, capture_output=True, check=True
    )
    return (time.perf_counter() - start) * 1000


def main(rounds: int = 10) -> None:
    """Print the medians, their difference, and what the plugin imports."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_nothing.py").write_text("def test_nothing():\n    pass\n", "utf-8")
        # Other plugins of the environment (hypothesis, locust) would hide the difference.
        alone = ("-p", "no:hypothesispytest", "-p", "no:locust", "-p", "no:cov", "-p", "no:xdist")
        times: dict[str, list[float]] = {"on": [], "off": []}
        for _ in range(rounds):
            times["on"].append(once(folder, *alone))
            times["off"].append(once(folder, *alone, "-p", f"no:{_PLUGIN}"))
    for key, values in times.items():
        print(f"plugin {key:3}: median {statistics.median(values):6.1f} ms, best {min(values):6.1f} ms")
    print(
        f"difference of medians {statistics.median(times['on']) - statistics.median(times['off']):.1f} ms, "
        f"of bests {min(times['on']) - min(times['off']):.1f} ms"
    )
    code = f"import sys, {_PLUGIN}; print([name for name in {_LOUD!r} if name in sys.modules])"
    print(
        "imported by the plugin:",
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip(),
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
