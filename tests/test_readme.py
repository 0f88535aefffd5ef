"""What the README shows is run: the example, its excerpt, and the way from red to green."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from isolation_kit.oracles import all_oracles

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
_BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)


def blocks(language: str, name: str = "") -> list[str]:
    """The README's code blocks of a language, without indentation; `name`: those that begin with `# name`."""
    found = []
    for indent, kind, text in _BLOCK.findall(README):
        plain = "".join(line.removeprefix(indent) for line in text.splitlines(keepends=True))
        if kind == language and plain.startswith(f"# {name}\n" if name else ""):
            found.append(plain)
    return found


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of the kit in the example's folder."""
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "COLUMNS": "80"},
    )


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The README's application, target and configuration, as a reader would type them."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("my_app.py", "my_isolation.py"):
        (folder / name).write_text(blocks("python", name)[0], "utf-8")
    for name in ("isolation.toml", "filters.toml"):
        (folder / name).write_text(blocks("toml", name)[0], "utf-8")
    return folder


def test_from_red_to_green(example: Path) -> None:
    """Red as shown; the printed rule makes the replay green; allowing the rest, all is green."""
    audit = ("pytest", "-q", "-p", "no:cacheprovider", "--isolation", "isolation.toml")
    red = run(example, *audit)
    assert red.returncode == 1, red.stdout + red.stderr
    for line in blocks("text")[0].splitlines():
        assert line.strip() in red.stdout or line.strip() == "[...]", line

    report = json.loads((example / ".isolation" / "report.json").read_text("utf-8"))
    rule = report["allow_lists"][0]["rule"]
    pasted = blocks("toml", "filters.toml")[1]
    assert rule in pasted
    noise = next(f for f in report["fingerprints"] if f["what"] == "child.tool.noise" and f["counts"])
    case = str(Path(".isolation") / noise["smallest"]["file"].removeprefix(".isolation/"))
    assert f"isolation-kit replay {case}" in README
    assert run(example, "isolation_kit.cli", "replay", case).returncode == 1
    (example / "filters.toml").write_text(pasted, "utf-8")
    green = run(example, "isolation_kit.cli", "replay", case)
    assert green.returncode == 0, green.stdout + green.stderr
    assert green.stdout.startswith("PASS ")

    with (example / "isolation.toml").open("a", encoding="utf-8") as file:
        file.write("\n" + blocks("toml", "isolation.toml")[1])
    last = run(example, *audit)
    assert last.returncode == 0, last.stdout + last.stderr
    allowed = json.loads((example / ".isolation" / "report.json").read_text("utf-8"))["policy"]
    assert allowed["declared"]["leaks"] == 0 < allowed["strict"]["leaks"]

    (example / "test_my_isolation.py").write_text(blocks("python", "test_my_isolation.py")[0], "utf-8")
    mine = run(example, "pytest", "-q", "-p", "no:cacheprovider", "--isolation", "test_my_isolation.py")
    assert mine.returncode == 0, mine.stdout + mine.stderr
    assert "2 passed" in mine.stdout


def test_any_test_can_assert_isolation(tmp_path: Path) -> None:
    """The recorded conversation as shown passes, and fails once the child is sent the history."""
    code = blocks("python", "test_recorded.py")[0]
    leaky = code.replace("(sent_to_child", "(history")
    for name, text, wanted in (("clean", code, 0), ("leaky", leaky, 1)):
        (tmp_path / f"test_{name}.py").write_text(text, "utf-8")
        done = run(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", f"test_{name}.py")
        assert done.returncode == wanted, done.stdout + done.stderr
    assert "term 0, 11 characters" in done.stdout


def test_target_is_ten_lines_or_so() -> None:
    """The target's function, as shown, is as short as promised."""
    code = blocks("python", "my_isolation.py")[0]
    body = [line for line in code.splitlines() if line.strip() and not line.startswith(("#", "from", "BILL"))]
    assert len(body) <= 11


def test_every_oracle_stands_there_with_its_rates() -> None:
    """The table names all oracles and how many cases each judges under each profile."""
    rows = re.findall(r"^\| ([a-z]+) \| [^|]+ \| ((?:all|1 in \d+)(?:, (?:all|1 in \d+))*) \|$", README, re.M)
    told = {name: rates.split(", ") for name, rates in rows}
    for oracle in all_oracles():
        steps = [oracle.every[profile] for profile in ("quick", "ci", "deep")]
        rates = ["all" if step == 1 else f"1 in {step}" for step in steps]
        assert told.pop(oracle.name) == (["all"] if set(rates) == {"all"} else rates)
    assert told == {}


def test_options_named_exist() -> None:
    """Every option and command that the README names is there."""
    options = run(ROOT, "pytest", "--help").stdout
    for name in re.findall(r"`?(--isolation-[a-z-]+)", README):
        if name != "--isolation-":
            assert name in options, name
    commands = run(ROOT, "isolation_kit.cli", "--help").stdout
    for name in re.findall(r"`isolation-kit ([a-z]+)", README):
        assert name in commands, name
