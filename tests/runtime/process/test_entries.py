"""Entries are looked up when a host is made, and a bug in one is told as what it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isolation_kit.errors import UsageError
from isolation_kit.runtime.process import ProcessHost


@pytest.mark.parametrize(
    "entry",
    ["nosuch:run", "nosuch.below:run", "os.path.below:run", "isolation_kit.nosuch:run", "__main__:run"],
)
def test_an_entry_in_no_module_is_refused_everywhere(entry: str) -> None:
    """When the host is made, with the child's name and the way out."""
    with pytest.raises(UsageError, match=r"child 'x' lies in module .* sys\.path .*my_app\.children:run"):
        ProcessHost(entries={"x": entry})


@pytest.mark.parametrize("entry", ["", "run", "os.path", ":run", "os:", "os:a b", "os:path:join"])
def test_what_is_no_module_and_function_is_refused_everywhere(entry: str) -> None:
    """A dotted name could mean either."""
    with pytest.raises(UsageError, match="no module:function"):
        ProcessHost(entries={"x": entry})


def test_an_entry_is_found_without_being_imported_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's code, its packages included, runs in the child only."""
    (tmp_path / "entry_package").mkdir()
    for name in ("__init__", "entry_module"):
        (tmp_path / "entry_package" / f"{name}.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(tmp_path)
    ProcessHost(entries={"x": "entry_package.entry_module:run", "y": "entry_package.entry_module:Kind.run"})
    assert "entry_package" not in sys.modules


@pytest.mark.parametrize(
    ("name", "kind"), [("mistyped", "TypeError"), ("misspelt", "NameError"), ("unimportable", "ImportError")]
)
def test_a_bug_in_an_entry_is_told_by_its_kind(live: Callable[..., Any], name: str, kind: str) -> None:
    """The parent gets a permanent reason and logs the type; of the error's words nothing leaves."""
    ended = live(name, "secret-7")
    assert ended.outcome == ("failed", ("program_error",))
    lines = [line for _, line in ended.made.watcher.named("log_line")]
    assert lines == [f"failure agent={name} reason=program_error error={kind}"]


def test_another_crash_is_logged_as_one(live: Callable[..., Any]) -> None:
    """What may pass by itself stays `child_crashed`, without a type: an exit code tells none."""
    ended = live("raising", "secret-7")
    assert ended.outcome == ("failed", ("child_crashed",))
    assert ("raising", "failure agent=raising reason=child_crashed") in ended.made.watcher.named("log_line")
