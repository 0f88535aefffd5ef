"""`isolation.toml` is read strictly: what is wrong is named, with what is allowed and an example."""

from __future__ import annotations

import os
import sys
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.config import Config, duration, load, report_file, resolve, shard
from isolation_kit.errors import ConfigError, UsageError

TARGET = '[[target]]\nname = "support"\nfactory = "my_app:team"\n'


@pytest.fixture
def read(tmp_path: Path):
    """Write the text as an isolation.toml and load it."""

    def _read(text: str) -> Config:
        path = tmp_path / "isolation.toml"
        path.write_text(text, encoding="utf-8")
        return load(path)

    return _read


def test_one_target_is_enough(read):
    """All else has a default that the design names."""
    config = read(TARGET)
    assert [entry.name for entry in config.targets] == ["support"]
    assert (config.run.seed, config.run.cases, config.gate.fail_on) == (7, 1000, "any")
    assert config.output == config.root / ".isolation"


def test_every_table_arrives(read, tmp_path: Path):
    """What the file says is what the kit gets, with paths relative to the file."""
    config = read(
        '[run]\nseed = 3\ncases = 50\nfamilies = ["cross-user"]\nprofile = "ci"\nmax_time = "5m"\n'
        'skins = ["email", "phone", "email"]\n'
        'case_timeout = 2\n[gate]\nfail_on = "new"\nbaseline = "base.json"\nrefused_share = 0.5\n'
        '[policy]\nreachable = "deny"\nbits = 1\nmasks = ["messages[*].id: string"]\n'
        '[content]\nattacks = ["mine"]\n'
        '[report]\noutput = "out"\nreports = ["html:page.html"]\n'
        + TARGET
        + '[[allow]]\nslot = "field.note"\nchannel = "result"\nchild = "writer"\nreason = "r"\nowner = "o"\n'
        'until = 2027-03-01\n[[untested]]\ntarget = "support"\nchild = "writer"\nreason = "GPU"\n'
    )
    assert (config.run.max_time, config.run.case_timeout, config.run.profile) == (300.0, 2, "ci")
    assert config.run.skins == ("email", "phone")
    assert config.gate.baseline == tmp_path / "base.json"
    assert config.content.attacks == (tmp_path / "mine",)
    assert config.reports[0].path == tmp_path / "page.html"
    assert config.policy.allow[0].until == date(2027, 3, 1)
    assert config.policy.reachable == "deny"
    assert (config.policy.bits, config.policy.masks) == (1, ("messages[*].id: string",))
    assert config.untested_of("support") == {"writer": "GPU"}


def test_an_expired_untested_entry_excuses_nothing(read):
    """After its day the child counts as not reached again."""
    entry = '[[untested]]\ntarget = "support"\nchild = "writer"\nreason = "GPU"\nuntil = 2020-01-01\n'
    assert read(TARGET + entry).untested_of("support") == {}


BROKEN = {
    "no target": ("[run]\nseed = 1\n", "[[target]]"),
    "unknown table": ("[runs]\n" + TARGET, "did you mean 'run'"),
    "unknown key": ("[run]\nsede = 1\n" + TARGET, "did you mean 'seed'"),
    "wrong type": ('[run]\ncases = "many"\n' + TARGET, "cases"),
    "a boolean is no number": ("[run]\ncases = true\n" + TARGET, "cases"),
    "out of range": ("[run]\ncases = 0\n" + TARGET, "from 1 to 1000000"),
    "no unit": ('[run]\nmax_time = "5"\n' + TARGET, "duration"),
    "endless case": ("[run]\ncase_timeout = 0\n" + TARGET, "case_timeout"),
    "unknown profile": ('[run]\nprofile = "depe"\n' + TARGET, "did you mean 'deep'"),
    "list expected": ('[run]\nfamilies = "cross-user"\n' + TARGET, "list"),
    "unknown skin": ('[run]\nskins = ["emial"]\n' + TARGET, "phone, person, prose"),
    "single brackets": ('[target]\nname = "a"\nfactory = "b:c"\n', "double brackets"),
    "factory without colon": ('[[target]]\nname = "a"\nfactory = "b.c"\n', "module:function"),
    "unsafe name": ('[[target]]\nname = "../a"\nfactory = "b:c"\n', "name"),
    "name used twice": (TARGET + TARGET, "used twice"),
    "name missing": ('[[target]]\nfactory = "b:c"\n', "name is missing"),
    "reason blank": (
        TARGET + '[[allow]]\nslot="user.current"\nchannel="result"\nchild="w"\nreason=" "\nowner="o"\n',
        "reason",
    ),
    "unknown slot": (
        TARGET + '[[allow]]\nslot="user.now"\nchannel="result"\nchild="w"\nreason="r"\nowner="o"\n',
        "slot",
    ),
    "date as text": (
        TARGET
        + '[[allow]]\nslot="user.current"\nchannel="result"\nchild="w"\nreason="r"\nowner="o"\nuntil="x"\n',
        "until",
    ),
    "untested elsewhere": (
        TARGET + '[[untested]]\ntarget="suport"\nchild="w"\nreason="r"\n',
        "did you mean 'support'",
    ),
    "too many bits": ("[policy]\nbits = 9\n" + TARGET, "from 0 to 4"),
    "mask without type": ('[policy]\nmasks = ["messages[*].id"]\n' + TARGET, "with what is left out there"),
    "broken TOML": ("[run\n", "no TOML"),
    "unknown report": (TARGET + '[report]\nreports = ["pdf:x"]\n', "TYPE:PATH"),
}


@pytest.mark.parametrize(("text", "told"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_files_are_refused_with_the_way_out(read, text: str, told: str):
    """The message names the file, the key, what is allowed and an example."""
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert "isolation.toml" in str(caught.value)
    assert told in str(caught.value)
    assert "example" in str(caught.value)


def test_a_missing_file_says_how_to_get_one(tmp_path: Path):
    """The way out is `isolation-kit init`."""
    with pytest.raises(ConfigError, match="isolation-kit init"):
        load(tmp_path / "isolation.toml")


def test_a_long_value_is_not_repeated(read):
    """A secret pasted into the wrong key does not come back in the message."""
    secret = "sk-live-" + "0123456789" * 5
    with pytest.raises(ConfigError) as caught:
        read(f'[run]\nprofile = "{secret}"\n' + TARGET)
    assert secret not in str(caught.value)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(tmp_path_factory, text: str):
    """Whatever stands in the file, only the kit's own error comes out."""
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(text, encoding="utf-8", errors="replace")
    with pytest.raises(ConfigError):
        load(path)


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59))
def test_durations_add_up(hours: int, minutes: int, seconds: int):
    """Hours, minutes and seconds count, and nothing at all is refused."""
    total = hours * 3600 + minutes * 60 + seconds
    if total:
        assert duration(f"{hours}h{minutes}m{seconds}s") == total
    else:
        with pytest.raises(UsageError, match="5m"):
            duration("0h0m0s")


@pytest.mark.parametrize("text", ["", "5", "m", "-5m", "1.5h", "5m5"])
def test_no_duration(text: str):
    """A number without its unit is refused."""
    with pytest.raises(UsageError, match="1h30m"):
        duration(text)


@given(st.integers(-2, 9), st.integers(-2, 9))
def test_shards(part: int, parts: int):
    """Only a part that exists is one."""
    if 1 <= part <= parts:
        assert shard(f"{part}/{parts}") == (part, parts)
    else:
        with pytest.raises(UsageError, match="2/4"):
            shard(f"{part}/{parts}")


def test_report_files(tmp_path: Path):
    """A relative path is meant from the given folder; an unknown type is refused."""
    assert report_file("md:a/b.md", tmp_path).path == tmp_path / "a/b.md"
    with pytest.raises(UsageError, match="json, md, html"):
        report_file("pdf:x", tmp_path)


MODULES = {
    "good": (
        "import isolation_kit as k\n"
        "@k.target(root='a', agents={'a': k.Agent(children={'b': k.Via('b')}), 'b': k.Agent()})\n"
        "def team(stage):\n    yield\n"
    ),
    "plain": "def team(stage):\n    yield\n",
    "crashing": "raise RuntimeError('sk-live-secret')\n",
    "leaving": "import sys\nsys.exit(0)\n",
    "unreadable": "def team(:\n",
    "lacking": "import surely_not_installed_anywhere\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with modules of all kinds, forgotten afterwards."""
    for name, text in MODULES.items():
        (tmp_path / f"iso_case_{name}.py").write_text(text)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("iso_case_")]:
        del sys.modules[name]


def test_a_factory_resolves(project: Path):
    """`module:function` beside the file gives its declaration."""
    assert resolve("iso_case_good:team", project).root == "a"


@pytest.mark.parametrize(
    ("factory", "told"),
    [
        ("iso_case_nowhere:team", "no module 'iso_case_nowhere'"),
        ("iso_case_good:taem", "did you mean 'team'"),
        ("iso_case_plain:team", "@isolation_kit.target"),
        ("iso_case_crashing:team", "RuntimeError at iso_case_crashing.py, line 1"),
        ("iso_case_leaving:team", "SystemExit"),
        ("iso_case_unreadable:team", "syntax error"),
        ("iso_case_lacking:team", "pip install surely_not_installed_anywhere"),
        ("no_colon", "module:function"),
    ],
    ids=lambda value: value.partition(":")[0] if ":" in value else None,
)
def test_a_factory_that_does_not_resolve_says_why(project: Path, factory: str, told: str):
    """Each way to fail has its own message, and none repeats what the program said."""
    with pytest.raises(ConfigError) as caught:
        resolve(factory, project)
    assert told in str(caught.value)
    assert "sk-live-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "error", ["KeyError", "GeneratorExit", "type('X', (BaseException,), {})", "SystemExit"]
)
def test_an_import_that_fails_with_anything_is_told_without_its_text(tmp_path: Path, error: str):
    """Also what is no Exception; Ctrl-C stays Ctrl-C."""
    name = f"iso_raising_{abs(hash((error, str(tmp_path))))}"
    (tmp_path / f"{name}.py").write_text(f"raise {error}('sk-live-secret')\n")
    with pytest.raises(ConfigError, match="importing") as caught:
        resolve(f"{name}:team", tmp_path)
    assert "sk-live" not in str(caught.value)
    (tmp_path / f"{name}x.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        resolve(f"{name}x:team", tmp_path)


def test_an_import_that_prints_and_leaves_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Its output is swallowed, and `os._exit(0)` is no pass."""
    name = f"iso_exiting_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text("import os\nprint('sk-live-secret')\nos._exit(0)\n")
    with pytest.raises(ConfigError, match="SystemExit"):
        resolve(f"{name}:team", tmp_path)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"[run]\nseed = " + b"9" * 5000, "too many digits"),
        (b"\xef\xbb\xbf[run]", "byte order mark"),
        (b"run = 3", "is a whole number"),
        (b"target = {}", "is a table"),
        (b'["\\u001b[31m"]', "x1b"),
    ],
)
def test_odd_files_are_told_in_words_of_toml(tmp_path: Path, text: bytes, told: str):
    """Long integers, a byte order mark, wrong types, escape codes in names."""
    path = tmp_path / "isolation.toml"
    path.write_bytes(text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert told in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_pipe_is_no_configuration(tmp_path: Path):
    """It would be waited for without end."""
    os.mkfifo(tmp_path / "isolation.toml")
    with pytest.raises(ConfigError, match="no regular file"):
        load(tmp_path / "isolation.toml")
