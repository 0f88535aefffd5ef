"""Runs the command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from systems import project

from isolation_kit.cli import main

__all__ = ["Told", "project"]


@dataclass(frozen=True)
class Told:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """`isolation-kit` with these words."""

    def run(*words: str) -> Told:
        code = main(words)
        captured = capsys.readouterr()
        return Told(code, captured.out, captured.err)

    return run
