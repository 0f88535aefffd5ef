"""Attack and class files: more folders add and override; a broken file is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from content_samples import ATTACK, CLASS, OVERFLOW
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isolation_kit.content import (
    TOKEN,
    Attack,
    Bilingual,
    Carrier,
    Example,
    FingerprintClass,
    Overflow,
    Remedies,
    Remedy,
    Structure,
    classify,
    content_root,
    load_attacks,
    load_fingerprint_classes,
    loading,
)
from isolation_kit.content.rules import RULES
from isolation_kit.errors import ContentError

ATTACKS = load_attacks()
CLASSES = load_fingerprint_classes()


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shipped, so that a load reads the test's own files only."""
    (tmp_path.parent / "none").mkdir(exist_ok=True)
    monkeypatch.setattr(loading, "content_root", lambda folder: tmp_path.parent / "none")


def attack_file(root: Path, text: str, family: str = "noise-injection", name: str = "demo.toml") -> Path:
    path = root / family / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def class_file(root: Path, text: str) -> Path:
    path = root / "demo.toml"
    path.write_text(text, encoding="utf-8")
    return path


def changed(text: str, old: str, new: str) -> str:
    assert text.count(old) >= 1, f"the table names {old!r}, which the sample does not hold"
    return text.replace(old, new, 1)


def refusal(load: Callable[[tuple[Path, ...]], object], root: Path, path: Path) -> str:
    with pytest.raises(ContentError) as caught:
        load((root,))
    message = str(caught.value)
    assert str(path) in message
    assert "allowed:" in message
    return message


def test_more_folders_add_and_override(tmp_path: Path) -> None:
    """A new id is added, a known id replaces the shipped attack or class."""
    attack_file(tmp_path / "a", ATTACK)
    attack_file(tmp_path / "a", ATTACK.replace('"demo"', '"envelope"'), name="envelope.toml")
    (tmp_path / "f").mkdir()
    class_file(tmp_path / "f", CLASS)
    attacks = {attack.id: attack for attack in load_attacks((tmp_path / "a",))}
    assert len(attacks) == len(ATTACKS) + 1
    assert attacks["envelope"].title == "A demo"
    classes = load_fingerprint_classes((tmp_path / "f",))
    found = classify("demo-field", classes)
    assert found is not None
    assert found.id == "demo"
    assert classify("demo-field", CLASSES) is None


BROKEN_ATTACKS = {
    "no-toml": ("id =", "id"),
    "typing-slip": ("title =", "titel ="),
    "typing-slip-in-a-carrier": ("language =", "langauge ="),
    "id-is-not-the-file": ('"demo"', '"other"'),
    "family-is-not-the-folder": ('"noise-injection"', '"cross-user"'),
    "blank-title": ('"A demo"', '" "'),
    "number-for-text": ('"A demo"', "7"),
    "no-source": ('source = "article 000 section 4.7"\n', ""),
    "link-without-https": ('link = ""', 'link = "http://example.org"'),
    "unknown-map": ("CWE-200", "cwe 200"),
    "unknown-slot": ("child.tool.noise", "child.tool.nose"),
    "unknown-language": ('"en"', '"de"'),
    "unknown-shape": ('shape = "json"', 'shape = "yaml"'),
    "carrier-without-token": (f'"trace_id": "{TOKEN}"', '"trace_id": "1"'),
    "carrier-is-no-json": (f'{{"trace_id": "{TOKEN}"}}', f"{{'trace_id': {TOKEN}}}"),
    "carrier-with-equal-keys": ('{"trace_id"', '{"trace_id": 1, "trace_id"'),
    "carrier-is-a-list": (f'{{"trace_id": "{TOKEN}"}}', f'["{TOKEN}"]'),
    "unknown-channel": ("child.request", "child.requests"),
    "counts-as-text": ("counts = true", 'counts = "true"'),
    "counts-without-token": (f"x {TOKEN}", "x"),
    "order-without-user": ("order = [0, 1, 0]", "order = [0, 2, 0]"),
    "order-is-negative": ("order = [0, 1, 0]", "order = [0, -1, 0]"),
    "order-is-boolean": ("order = [0, 1, 0]", "order = [true]"),
    "user-twice": ('"u_0", "u_1"', '"u_0", "u_0"'),
    "sessions-too-short": ('["a", "b", "a"]', '["a", "b"]'),
    "about-too-long": ("about = [0, 1, 0]", "about = [0, 1, 0, 0]"),
    "about-without-subject": ("about = [0, 1, 0]", "about = [0, 2, 0]"),
    "follow-up-about-a-new-subject": ("about = [0, 1, 0]", "about = [-1, 1, 0]"),
    "structure-is-no-table": ("[structure]", "structure = 1\n[more]"),
    "overflow-in-another-family": ("[structure]", OVERFLOW + "[structure]"),
}


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(("old", "new"), BROKEN_ATTACKS.values(), ids=BROKEN_ATTACKS.keys())
def test_a_broken_attack_is_refused_by_name(tmp_path: Path, old: str, new: str) -> None:
    """The sample loads; each single change to it is refused with file, key, allowed values and an example."""
    attack_file(tmp_path, ATTACK)
    assert "demo" in {attack.id for attack in load_attacks((tmp_path,))}
    path = attack_file(tmp_path, changed(ATTACK, old, new))
    assert "example:" in refusal(load_attacks, tmp_path, path)


BROKEN_OVERFLOWS = {
    "missing": (OVERFLOW, ""),
    "unknown-of": ('"task"', '"tasks"'),
    "unknown-size": ('"10x"', '"11x"'),
    "no-size": ('["limit", "10x"]', "[]"),
    "empty-atom": ('"账单"', '""'),
    "unknown-twist": ("[overflow]", '[overflow]\ntwist = "upside-down"'),
}


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(("old", "new"), BROKEN_OVERFLOWS.values(), ids=BROKEN_OVERFLOWS.keys())
def test_a_broken_overflow_is_refused_by_name(tmp_path: Path, old: str, new: str) -> None:
    """A boundary attack needs an overflow of known parts."""
    sample = ATTACK.replace("noise-injection", "boundary-overflow") + OVERFLOW
    attack_file(tmp_path, sample, family="boundary-overflow")
    assert "demo" in {attack.id for attack in load_attacks((tmp_path,))}
    path = attack_file(tmp_path, changed(sample, old, new), family="boundary-overflow")
    assert "overflow" in refusal(load_attacks, tmp_path, path)


BROKEN_CLASSES = {
    "typing-slip": ("severity", "severety"),
    "unknown-severity": ('"low"', '"mild"'),
    "id-is-not-the-file": ('"demo"', '"other"'),
    "upper-case-name": ('["demo_field"]\nslots', '["Demo"]\nslots'),
    "name-of-another-class": ('["demo_field"]\nslots', '["demo_field", "traceId"]\nslots'.lower()),
    "slot-of-another-class": ("slots = []", 'slots = ["user.earlier"]'),
    "unknown-slot": ("slots = []", 'slots = ["nowhere"]'),
    "open-pattern": (r"'\A[0-9]{4}\Z'", "'[0-9]{4}'"),
    "broken-pattern": (r"'\A[0-9]{4}\Z'", r"'\A[0-9{4}\Z'"),
    "match-that-does-not": ('"demoField"', '"amount"'),
    "miss-that-matches": ('"amount"', '"demo-field"'),
    "no-match": ('["demoField"]', "[]"),
    "no-chinese": ('zh = "演示"', 'cn = "演示"'),
    "blank-remedy": ('zh = "办法"', 'zh = ""'),
    "rule-without-reason": ('reason = "r"\n', ""),
    "rule-is-no-toml": ("[[filter]]", "drop demo_field"),
    "no-rule": ("rule =", "rules ="),
}


@pytest.mark.parametrize(("old", "new"), BROKEN_CLASSES.values(), ids=BROKEN_CLASSES.keys())
def test_a_broken_class_is_refused_by_name(tmp_path: Path, old: str, new: str) -> None:
    """The sample loads; each single change to it is refused with file, key, allowed values and an example."""
    class_file(tmp_path, CLASS)
    assert "demo" in {entry.id for entry in load_fingerprint_classes((tmp_path,))}
    path = class_file(tmp_path, changed(CLASS, old, new))
    assert "example:" in refusal(load_fingerprint_classes, tmp_path, path)


@pytest.mark.usefixtures("alone")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 63), st.integers(0, 63), st.sampled_from(["\x00", "\ufeff", '"', "[[[", "= =", "]\n"]))
def test_damage_anywhere_is_refused_or_still_valid(tmp_path: Path, high: int, low: int, bad: str) -> None:
    """A damaged file either loads or raises ContentError that names it, never anything else."""
    at = (high * 64 + low) % len(ATTACK)
    path = attack_file(tmp_path, ATTACK[:at] + bad + ATTACK[at:])
    outcome = "loaded"
    try:
        load_attacks((tmp_path,))
    except ContentError as error:
        outcome = str(error)
    assert outcome == "loaded" or str(path) in outcome


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a = " + b"[" * 5000, b""], ids=["bytes", "deep", "empty"])
def test_bytes_that_are_no_text_are_refused(tmp_path: Path, data: bytes) -> None:
    """Wrong encoding, nesting without end and an empty file name the file, too."""
    path = attack_file(tmp_path, "")
    path.write_bytes(data)
    refusal(load_attacks, tmp_path, path)


def test_a_file_at_the_wrong_depth_is_refused(tmp_path: Path) -> None:
    """An attack outside a family folder, and a class inside one, are not passed over in silence."""
    stray = tmp_path / "demo.toml"
    stray.write_text(ATTACK, encoding="utf-8")
    refusal(load_attacks, tmp_path, stray)
    stray.unlink()
    nested = attack_file(tmp_path, CLASS)
    refusal(load_fingerprint_classes, tmp_path, nested)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    """A folder that is named but not there is an error, not an empty set."""
    refusal(load_attacks, tmp_path / "nowhere", tmp_path / "nowhere")


def test_an_error_shows_no_long_text(tmp_path: Path) -> None:
    """A long value in a wrong place is named by its length only."""
    attack_file(tmp_path, changed(ATTACK, "child.tool.noise", "sk-live-" + "q" * 60))
    with pytest.raises(ContentError, match="68 characters") as caught:
        load_attacks((tmp_path,))
    assert "sk-live" not in str(caught.value)


def test_the_root_is_the_wheel_then_the_checkout_then_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Content inside the package wins, then a checkout with a pyproject.toml; else reinstall."""
    package = tmp_path / "isolation_kit"
    package.mkdir()
    monkeypatch.setattr(loading, "files", lambda name: package)
    (tmp_path / "attacks").mkdir()
    with pytest.raises(ContentError, match="reinstall"):
        content_root("attacks")
    (tmp_path / "pyproject.toml").touch()
    assert content_root("attacks") == tmp_path / "attacks"
    (package / "_content" / "attacks").mkdir(parents=True)
    assert content_root("attacks") == package / "_content" / "attacks"


def test_every_key_has_a_rule() -> None:
    """Each field of each content record says what is allowed and shows an example."""
    kinds = (Carrier, Structure, Overflow, Example, Attack)
    known = {
        f"{k.__name__}.{f.name}"
        for k in (*kinds, Bilingual, FingerprintClass, Remedies, Remedy)
        for f in fields(k)
    }
    assert known == set(RULES)
