"""Nothing that a target says gets into pytest's output; nothing ends green because nothing ran."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from isolation_kit.hush import hushed, unpatched

EXIT = pytest.ExitCode
SECRET = "sk-live-in-every-stream"


@pytest.mark.parametrize(("name", "code"), [("loud_clean", EXIT.OK), ("loud_leaky", EXIT.TESTS_FAILED)])
def test_a_loud_target_is_not_heard(project, outer, name: str, code: pytest.ExitCode):
    """Prints, warnings, log lines, threads and finalisers: verdict as without them, the secret nowhere."""
    folder = project(name)
    log = ("--log-file=log.txt", "--junitxml=j.xml", "-o", "junit_logging=all", "-rA", "-s")
    result = outer("--isolation", "isolation.toml", *log)
    assert result.ret == code
    written = [(folder / name).read_text() for name in ("log.txt", "j.xml")]
    assert SECRET not in "".join([*result.outlines, *result.errlines, *written])


@pytest.mark.parametrize(("name", "failed"), [("loud_clean", 0), ("loud_leaky", 1)])
def test_a_loud_target_is_not_heard_in_the_fixture(project, outer, name: str, failed: int):
    """The same for `isolation_target`, whose test is shown with captured output when it fails."""
    folder = project(name)
    module = next(folder.glob("*.py")).stem
    (folder / "test_it.py").write_text(
        f"import {module} as m\n\ndef test_it(isolation_target):\n"
        f"    isolation_target(m.{name}).assert_isolated()\n"
    )
    result = outer("test_it.py", "--log-file=log.txt", "-rA")
    result.assert_outcomes(passed=1 - failed, failed=failed)
    assert SECRET not in "".join([*result.outlines, *result.errlines, (folder / "log.txt").read_text()])


def test_a_target_cannot_end_the_session(project, outer):
    """`os._exit(0)` in the target is an error of its item."""
    project("leaving")
    result = outer("--isolation", "isolation.toml")
    assert result.ret == EXIT.TESTS_FAILED
    result.stdout.fnmatch_lines(["*SystemExit*"])


def test_hush_puts_everything_back():
    """Streams, hooks, filters and functions are the same objects afterwards."""

    def state() -> list[object]:
        return [
            sys.stdout,
            sys.stderr,
            threading.excepthook,
            sys.unraisablehook,
            warnings.showwarning,
            os._exit,
        ]

    before = state()
    with hushed():
        assert not set(map(id, state())) & set(map(id, before))
    assert state() == before


def test_os_exit_is_real_in_a_forked_child():
    """Only the kit's own process is kept."""
    code = (
        "import os\nfrom isolation_kit.hush import hushed\n"
        "with hushed():\n    child = os.fork()\n    if not child: os._exit(5)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5\n"
        "    try:\n        os._exit(0)\n    except SystemExit:\n        pass\n"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": root}, check=False)
    assert done.returncode == 0


def test_patches_are_put_back(monkeypatch: pytest.MonkeyPatch):
    """What reports are written with works again after the target."""
    import json

    before = json.dumps
    with unpatched():
        json.dumps = None
    assert json.dumps is before


@pytest.mark.parametrize("mark", ["skip", "xfail"])
def test_a_marked_test_that_did_not_run_is_no_pass(inner, pytester: pytest.Pytester, project, mark: str):
    """Skipped or expected to fail: exit 1 and why; a marked test beside it that ran is enough."""
    project("clean")
    body = f"import pytest\n@pytest.mark.isolation\n@pytest.mark.{mark}\ndef test_a():\n    assert 0\n"
    Path("test_mine.py").write_text(body)
    result = inner("--isolation", "test_mine.py")
    assert result.ret == EXIT.TESTS_FAILED
    result.stdout.fnmatch_lines(["*nothing was audited*"])
    Path("test_mine.py").write_text(f"{body}@pytest.mark.isolation\ndef test_b():\n    pass\n")
    assert inner("--isolation", "test_mine.py").ret == EXIT.OK


@pytest.mark.parametrize("fixture", ["isolation_target", "isolation_probe"])
def test_an_unused_fixture_is_no_pass(inner, pytester: pytest.Pytester, fixture: str):
    """Its tear-down fails with what to do; a test that was skipped inside is let alone."""
    pytester.makepyfile(
        f"import pytest\ndef test_a({fixture}): pass\ndef test_b({fixture}): pytest.skip('no network')\n"
    )
    result = inner()
    result.assert_outcomes(passed=1, errors=1, skipped=1)
    result.stdout.fnmatch_lines(["*without a judgement of it*assert_isolated()*"])


def test_items_take_markers_of_a_conftest(inner, project):
    """A conftest that skips everything leaves an inconclusive run, never an internal error."""
    folder = project("clean")
    (folder / "conftest.py").write_text(
        "import pytest\ndef pytest_collection_modifyitems(items):\n"
        "    for item in items:\n        item.add_marker(pytest.mark.skip(reason='x'))\n"
    )
    assert inner("--isolation", "isolation.toml").ret == EXIT.TESTS_FAILED
