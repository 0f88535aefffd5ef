"""What a report says of the machine and the repository: versions, commit, command line. Best effort."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path, PurePath

from isolation_kit.config import Config
from isolation_kit.report import RunBlock
from isolation_kit.target import Declaration

__all__ = ["command_line", "run_block"]


def run_block(
    config: Config,
    *,
    families: tuple[str, ...],
    declarations: Iterable[Declaration],
    command: Sequence[str],
    shard: tuple[int, int],
    kind: str = "audit",
    users: int = 0,
    leaks_from: int = 0,
) -> RunBlock:
    """How this run was started, as far as its findings depend on it."""
    commit, dirty = _commit(config.root)
    return RunBlock(
        seed=config.run.seed,
        profile=config.run.profile,
        cases_requested=config.run.cases,
        families=families,
        command=command_line(command),
        versions=_versions(declarations),
        commit=commit,
        dirty=dirty,
        masks=config.policy.masks,
        shard="" if shard == (1, 1) else f"{shard[0]}/{shard[1]}",
        policy_digest=config.policy.digest,
        case_folder=_below(config.output / "cases", config.root),
        config="" if config.path.name == "isolation.toml" else _below(config.path, config.root),
        kind=kind,
        users=users,
        leaks_from=leaks_from,
    )


def _below(path: Path, root: Path) -> str:
    """`path` from `root`, so that a report is the same from wherever the run was started."""
    path = path.absolute()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


def command_line(words: Sequence[str]) -> str:
    """The command with every absolute path reduced to its name: reports travel, home folders should not."""
    return " ".join(_reduced(word) for word in words)


def _reduced(word: str) -> str:
    if word.startswith(("http://", "https://")):
        return word
    for mark in ("=", ":"):
        head, found, tail = word.partition(mark)
        if found and PurePath(tail).is_absolute():
            return f"{head}{mark}{PurePath(tail).name}"
    return PurePath(word).name if PurePath(word).is_absolute() else word


def _versions(declarations: Iterable[Declaration]) -> dict[str, str]:
    wanted = [
        "isolation-kit",
        "hypothesis",
        "pytest",
        *(item.package for item in declarations if item.package),
    ]
    return {"python": platform.python_version(), **{name: _version(name) for name in wanted}}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _commit(folder: Path) -> tuple[str, bool]:
    """The commit of the user's repository and whether it has uncommitted changes; nothing without git."""
    commit = _git(folder, "rev-parse", "HEAD")
    return commit, bool(commit) and bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))


def _git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603  (fixed words, no shell)
            ("git", "-C", str(folder), *words),  # noqa: S607  (the user's own git)
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
