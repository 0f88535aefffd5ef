"""A run that ends before its report says how to see what it had found."""

from __future__ import annotations

import pytest

from isolation_kit import cli


@pytest.mark.parametrize(("ending", "code"), [(KeyboardInterrupt(), 130), (SystemError("sk-live"), 3)])
def test_what_was_found_can_be_seen(
    ending: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second Ctrl-C comes while the report is being made: findings are kept, and nobody says otherwise."""

    def ends(*args: object) -> int:
        raise ending

    monkeypatch.setattr(cli, "parser", lambda: Parser(ends))
    assert cli.main(["run"]) == code
    told = capsys.readouterr().err
    assert "isolation-kit report .isolation/report.json --recover" in told
    assert "before anything was found" not in told
    assert "sk-live" not in told


class Parser:
    """Takes every command line."""

    def __init__(self, command: object) -> None:
        self.command = command

    def parse_args(self, words: object) -> Parser:
        """Itself, for it has a command."""
        return self
