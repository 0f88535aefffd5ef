"""`policy suggest`: drafts for each leak, refused until a reason stands there, and green once it does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isolation_kit.cli.policy import draft


@pytest.fixture
def leaked(cli, project) -> str:
    """A finished run of a leaky system; the drafts for it."""
    project("leaky")
    assert cli("run").code == 1
    told = cli("policy", "suggest")
    assert told.code == 0
    return told.out


def test_a_draft_is_refused_until_it_has_a_reason_and_then_opens_what_it_names(cli, leaked: str) -> None:
    """Appended as it is: exit 2 for the empty reason. Filled in: the same run passes and names the leaks."""
    assert leaked.count("[[allow]]") == leaked.count('reason = ""') > 0
    config = Path("isolation.toml")
    before = config.read_text()
    config.write_text(f"{before}\n{leaked}")
    refused = cli("run")
    assert refused.code == 2
    assert "reason" in refused.err
    filled = re.sub(r'(reason|owner) = ""', r'\1 = "known"', leaked)
    config.write_text(f"{before}\n{filled}")
    assert cli("run").code == 0
    assert "[[allow]]" not in cli("policy", "suggest").out


def test_it_overwrites_nothing(cli, leaked: str) -> None:
    """A new file gets the drafts; a file that is there stays."""
    assert cli("policy", "suggest", "--to", "allow.toml").code == 0
    assert Path("allow.toml").read_text() == leaked
    told = cli("policy", "suggest", "--to", "allow.toml")
    assert told.code == 2
    assert "not there yet" in told.err


def test_other_users_data_and_residue_are_named_and_never_drafted() -> None:
    """They stand in comments; names that a target chose are quoted as TOML texts."""
    row = {"counts": True, "kind": "LEAK", "families": [], "edge": "a>b", "channel": "child.request"}
    rows = [
        {**row, "what": "user.current", "direction": "across"},
        {**row, "what": "task.input", "direction": "after"},
        {**row, "what": 'field."x', "direction": "down"},
    ]
    text = draft({"fingerprints": rows})
    assert text.count("[[allow]]") == 1
    assert 'slot = "field.\\"x"' in text
    assert "#   user.current -> child.request (across) at a>b" in text
    assert "[[allow]]" not in draft({"fingerprints": []})
