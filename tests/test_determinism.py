"""Same seed, same bytes: whatever the hash seed, the folder, the modules beside it, or the way installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import isolation_kit

ROOT = Path(isolation_kit.__file__).parents[1]
SCRIPT = """
import sys
{before}
from isolation_kit.audit import Campaign, Plan
from isolation_kit.content import load_attacks
from isolation_kit.outcome import Item
from isolation_kit.target import declaration_of
from isolation_kit.mutants import m10_tool_reply_whole, m64_last_subject

def audit(factory, family):
    declaration = declaration_of(factory)
    with Campaign(declaration, Plan(cases={cases}, attacks=load_attacks(), seed={seed})) as campaign:
        outcome = campaign.run(Item(1, declaration.name, family))
    sys.stdout.write(outcome.tally.to_json() + "\\n")
    for case in outcome.smallest:
        sys.stdout.write(f"{{case.fingerprint}} {{case.size}} {{case.scenario.to_json()}}\\n")

audit(m64_last_subject, "cross-user")
audit(m10_tool_reply_whole, "boundary-overflow")
"""
CONSTANTS = """
NUMBERS = [{numbers}]
TEXTS = ("child.request", "{{{{canary:user.current/0/0/0/0}}}}", "张伟", b"bytes")
SHARE = 0.4242
"""
PROFILE = """
import hypothesis
hypothesis.settings.register_profile("theirs", max_examples=3, derandomize=True, deadline=1)
hypothesis.settings.load_profile("theirs")
"""
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the script in a fresh process and returns what it found."""

    def one(
        before: str = "",
        *,
        folder: Path = ROOT,
        hash_seed: str = "0",
        package: Path = ROOT,
        seed: int = 7,
    ) -> str:
        environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "PYTHONPATH": os.pathsep.join((str(package), str(folder))),
            "PYTHONHASHSEED": hash_seed,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(before=before, cases=30, seed=seed)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    return one


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Another working directory, with a local module full of constants."""
    numbers = ", ".join(str(number) for number in [*range(64), 1 << 20, -7, 4000, 600, 999_999_937])
    (tmp_path / "constants.py").write_text(CONSTANTS.format(numbers=numbers), encoding="utf-8")
    return tmp_path


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The package as a wheel lays it out, under a `site-packages`."""
    site = tmp_path / "site-packages"
    here = ROOT / "isolation_kit"
    shutil.copytree(here, site / "isolation_kit", ignore=shutil.ignore_patterns("__pycache__"))
    if not (here / "_content").is_dir():
        for name in ("attacks", "fingerprints", "reports"):
            shutil.copytree(ROOT / name, site / "isolation_kit" / "_content" / name)
    return site


def test_findings_are_the_same_bytes_everywhere(run: Run, elsewhere: Path, installed: Path) -> None:
    """Counters, digests and smallest cases of two items agree in six surroundings."""
    with ThreadPoolExecutor(2) as pool:
        runs = {
            "plain": pool.submit(run),
            "hash seed": pool.submit(run, hash_seed="4242"),
            "folder": pool.submit(run, folder=elsewhere, hash_seed="random"),
            "constants": pool.submit(run, "import constants", folder=elsewhere),
            "profile": pool.submit(run, PROFILE),
            "wheel": pool.submit(run, "import constants", folder=elsewhere, package=installed),
        }
        found = {name: future.result() for name, future in runs.items()}
        other = pool.submit(run, seed=8).result()
    assert "child.tool.noise" in found["plain"]
    assert [name for name, text in found.items() if text != found["plain"]] == []
    assert other != found["plain"]
