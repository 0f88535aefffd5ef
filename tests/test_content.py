"""Shipped attacks and pollutant classes load and keep their promises; a broken file is refused by name."""

from __future__ import annotations

import re
import time
import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
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
    Structure,
    class_of_slot,
    classify,
    content_root,
    load_attacks,
    load_fingerprint_classes,
    loading,
    normalise_field,
)
from isolation_kit.content.rules import RULES
from isolation_kit.errors import ContentError
from isolation_kit.policy import audience
from isolation_kit.scenario import Slot
from isolation_kit.trace import Channel

ATTACKS = load_attacks()
CLASSES = load_fingerprint_classes()
FAMILIES = ("boundary-overflow", "cross-user", "noise-injection")
each_attack = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
each_class = pytest.mark.parametrize("entry", CLASSES, ids=lambda entry: entry.id)

ATTACK = f"""
id = "demo"
family = "noise-injection"
title = "A demo"
models = "What it models."
source = "article 000 section 4.7"
link = ""
maps = ["CWE-200"]
[[carrier]]
slot = "child.tool.noise"
language = "en"
shape = "json"
text = '{{"trace_id": "{TOKEN}"}}'
[[example]]
slot = "user.earlier"
channel = "child.request"
counts = true
text = "x {TOKEN}"
why = "w"
[structure]
users = ["u_0", "u_1"]
order = [0, 1, 0]
sessions = ["a", "b", "a"]
subjects = ["张伟", "李娜"]
about = [0, 1, 0]
follow_up = true
"""
OVERFLOW = """
[overflow]
of = "task"
sizes = ["limit", "10x"]
atoms = ["word ", "账单"]
"""
CLASS = r"""
id = "demo"
severity = "low"
names = ["demo_field"]
slots = []
values = ['\A[0-9]{4}\Z']
matches = ["demoField"]
misses = ["amount"]
source = "article 000 section 5.4"
link = "https://example.org/1"
rule = '''
[[filter]]
field = ["demo_field"]
action = "drop"
reason = "r"
'''
title = { en = "Demo", zh = "演示" }
symptom = { en = "s", zh = "现象" }
cause = { en = "c", zh = "原因" }
remedy = { en = "r", zh = "办法" }
"""


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


def test_each_family_ships_attacks() -> None:
    """All three families are there, 24 attacks or more in all, each id once."""
    assert {attack.family for attack in ATTACKS} == set(FAMILIES)
    assert len(ATTACKS) >= 24
    assert len({attack.id for attack in ATTACKS}) == len(ATTACKS)
    assert list(ATTACKS) == sorted(ATTACKS, key=lambda attack: (attack.family, attack.id))


@each_attack
def test_an_attack_lies_where_its_id_says(attack: Attack) -> None:
    """Family and id are the folder's and the file's name."""
    assert (content_root("attacks") / attack.family / f"{attack.id}.toml").is_file()


@each_attack
def test_an_attack_speaks_both_languages_and_names_its_source(attack: Attack) -> None:
    """Chinese and English carriers, and an article's section or a public reference."""
    languages = {carrier.language for carrier in attack.carriers}
    assert {"zh", "en"} <= languages
    assert re.search(r"article 00[0-3] section|\S+/\S+#\d+|public version pair", attack.source)
    assert all(re.search("[\u4e00-\u9fff%]", c.text) for c in attack.carriers if c.language == "zh")
    assert not any(re.search("[\u4e00-\u9fff]", c.text) for c in attack.carriers if c.language == "en")


@each_attack
def test_examples_agree_with_the_default_audience(attack: Attack) -> None:
    """A canary counts exactly where the default table denies its slot; a look-alike never counts."""
    assert {example.counts for example in attack.examples} == {True, False}
    for example in attack.examples:
        denied = example.slot not in audience(Channel(example.channel))
        assert example.counts == (TOKEN in example.text and denied), example.why


@each_attack
def test_an_attack_can_stand_alone_in_both_languages(attack: Attack) -> None:
    """A generator finds user text, a task, a tool reply and an answer in Chinese and in English."""
    for slot in ("user.current", "task.goal", "child.tool.result", "child.answer"):
        assert {"zh", "en"} <= {c.language for c in attack.carriers if c.slot == slot}, slot


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_reaches_the_denied_slots(family: str) -> None:
    """History, the parent's own words or state, and tool replies of the parent are planted in each family."""
    slots = {c.slot for attack in ATTACKS if attack.family == family for c in attack.carriers}
    assert {"user.earlier", "parent.text", "parent.state", "parent.tool.result"} <= slots


def test_overflow_covers_all_sizes_densities_and_twists() -> None:
    """Every target, size and twist occurs; atoms reach from long ascii runs to four-byte scripts."""
    overflows = [attack.overflow for attack in ATTACKS if attack.overflow is not None]
    assert {o.of for o in overflows} == {"task", "history", "tool.result", "tool.args", "identifier"}
    assert {size for o in overflows for size in o.sizes} == {"limit-1", "limit", "limit+1", "10x"}
    assert {o.twist for o in overflows} == {
        "",
        "deep-nesting",
        "many-keys",
        "lone-surrogate",
        "duplicate-keys",
    }
    for of in ("task", "history", "tool.result", "tool.args"):
        widths = {len(char.encode()) for o in overflows if o.of == of for atom in o.atoms for char in atom}
        assert {1, 3, 4} <= widths, of


def test_cross_user_structures_cover_the_known_shapes() -> None:
    """A-B-A, equal session names, prefix names, concurrency, and a follow-up about the first subject."""
    shapes = [attack.structure for attack in ATTACKS if attack.family == "cross-user"]
    assert any(shape.order[:3] == (0, 1, 0) and len(set(shape.sessions)) == 2 for shape in shapes)
    assert any(len(set(shape.sessions)) == 1 and len(set(shape.order)) == 2 for shape in shapes)
    assert any({"agent_1", "agent_10"} <= set(shape.users) for shape in shapes)
    assert any({"acme", "acme-corp"} <= set(shape.users) for shape in shapes)
    assert any(shape.concurrent for shape in shapes)
    assert any(shape.follow_up and shape.about == (0, 1, 0) for shape in shapes)


def test_every_slot_belongs_to_exactly_one_class() -> None:
    """No finding stays without a symptom, cause and remedy."""
    assert len(CLASSES) >= 15
    assert {slot for entry in CLASSES for slot in entry.slots} == set(Slot)
    assert sum(len(entry.slots) for entry in CLASSES) == len(Slot)
    found = class_of_slot("user.earlier", CLASSES)
    assert found is not None
    assert found.id == "parent_history"
    assert class_of_slot("x.own", CLASSES) is None


@each_class
def test_a_class_knows_its_names_and_nothing_else(entry: FingerprintClass) -> None:
    """Each must-match example is classified here, each must-not-match example is not."""
    for name in (*entry.names, *entry.matches):
        found = classify(name, CLASSES)
        assert found is not None, name
        assert found.id == entry.id, name
    assert all(classify(name, CLASSES) is not entry for name in entry.misses)


@each_class
def test_a_class_speaks_both_languages(entry: FingerprintClass) -> None:
    """Title, symptom, cause and remedy are there in English and in Chinese."""
    for pair in (entry.title, entry.symptom, entry.cause, entry.remedy):
        assert not re.search("[\u4e00-\u9fff]", pair.en)
        assert len(re.findall("[\u4e00-\u9fff]", pair.zh)) >= 3


@each_class
def test_the_filter_rule_drops_only_what_the_class_names(entry: FingerprintClass) -> None:
    """The rule to paste is TOML, and each of its fields belongs to the class."""
    rules = tomllib.loads(entry.rule)["filter"]
    assert all(rule["action"] == "drop" and rule["reason"] for rule in rules)
    for name in (name for rule in rules for name in rule["field"]):
        found = classify(name, CLASSES)
        assert found is not None, name
        assert found.id == entry.id, name


VALUES = {
    "trace_id": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "debug_info": "【DEBUG:trace_id=abc123,env=prod】",
    "http_status": "HTTP/1.1 502 Bad Gateway",
    "http_headers": "X-Forwarded-For: 10.0.0.7",
    "stack_trace": "Traceback (most recent call last):\n  File",
    "sql": "SELECT amount FROM t_bill WHERE id = 1",
    "internal_error_code": "ORA-00942",
    "timestamp": "2024-05-01T08:00:00+08:00",
    "session_id": "sess_7f2a",
    "credentials": "Bearer abcdefgh.12345678",
    "log_lines": "2024-05-01 08:00:01,123 INFO billing.client ok",
    "system_prompt": "你是一名账单助手，只回答账单问题",
}


@pytest.mark.parametrize(("name", "value"), VALUES.items(), ids=VALUES.keys())
def test_a_value_shape_is_of_one_class_only(name: str, value: str) -> None:
    """A typical value has its class's shape and no other; plain data has none."""
    shaped = {entry.id for entry in CLASSES for pattern in entry.values if re.match(pattern, value)}
    assert shaped == {name}
    for plain in ("129.5", "2024-05-01", "张伟的账单最便宜吗", "Broadband, 300 Mbit/s", ""):
        assert not any(re.match(pattern, plain) for entry in CLASSES for pattern in entry.values)


@each_class
def test_value_shapes_answer_quickly_on_hostile_text(entry: FingerprintClass) -> None:
    """No value shape backtracks without end on long runs."""
    hostile = [run * 20_000 for run in ("a", "0", " ", "A-", "at a.", "SELECT ", "20", "eyJ.")]
    started = time.process_time()
    for pattern in entry.values:
        for text in hostile:
            re.search(pattern, text + "!")
    assert time.process_time() - started < 1.0


@given(st.lists(st.sampled_from(["trace", "id", "http", "status", "用户"]), min_size=1, max_size=3))
def test_all_spellings_of_a_field_are_one(words: list[str]) -> None:
    """Snake, kebab, dotted, camel, upper case and percent-encoding fold to the same name."""
    snake = "_".join(words)
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    encoded = "".join(f"%{byte:02X}" for byte in snake.encode())
    for spelling in (snake, "-".join(words), ".".join(words), snake.upper(), encoded):
        assert normalise_field(spelling) == snake
    if all(word.isascii() for word in words):
        assert normalise_field(camel) == snake


@given(st.text(max_size=30))
def test_any_field_name_can_be_classified(name: str) -> None:
    """Folding is stable and hostile names raise nothing."""
    folded = normalise_field(name)
    assert normalise_field(folded).casefold() == normalise_field(folded)
    classify(name, CLASSES)


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
    known = {f"{k.__name__}.{f.name}" for k in (*kinds, Bilingual, FingerprintClass) for f in fields(k)}
    assert known == set(RULES)
