"""The rehearsal: it pays the page faults of a child ahead, and nothing is left of it."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

# In a process of its own: like a zygote it rehearses once; then it forks a child that does so twice.
_SCRIPT = """
import gc, json, logging, os, resource, sys
sys.path[:] = json.loads(sys.argv[1])
from isolation_kit.runtime.process.zygote import rehearse

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

before = os.listdir("/proc/self/fd")
rehearse()
after = os.listdir("/proc/self/fd")
gc.collect()
gc.freeze()
down, up = os.pipe()
if os.fork() == 0:
    marks = [faults()]
    for _ in range(2):
        rehearse()
        marks.append(faults())
    os.write(up, json.dumps(marks).encode())
    os._exit(0)
os.wait()
first, second, third = json.loads(os.read(down, 1000))
print(json.dumps({
    "modules": sorted(sys.modules),
    "descriptors": [len(before), len(after)],
    "handlers": len(logging.getLogger().handlers),
    "faults": [second - first, third - second],
}))
"""


@cache
def seen() -> Any:
    """What such a process saw."""
    command = [sys.executable, "-I", "-S", "-c", _SCRIPT, json.dumps(sys.path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_a_rehearsed_child_has_few_page_faults_left() -> None:
    """The first pass through a child's code copies hundreds of pages, the second hardly any."""
    first, second = seen()["faults"]
    assert first > 200
    assert second < first / 5


def test_nothing_is_left_of_a_rehearsal() -> None:
    """No descriptor stays open, and no log handler holds a pipe that is closed."""
    before, after = seen()["descriptors"]
    assert before == after
    assert seen()["handlers"] == 0


def test_a_zygote_does_without_what_only_parents_need() -> None:
    """jsonschema is not loaded: each child would carry its pages."""
    assert "isolation_kit.runtime.child" in seen()["modules"]
    assert not {"jsonschema", "referencing", "attrs", "hypothesis", "sqlite3"} & set(seen()["modules"])
