"""Shipped attacks and pollutant classes keep their promises; field names fold to one spelling."""

from __future__ import annotations

import re
import time
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.content import (
    TOKEN,
    Attack,
    FingerprintClass,
    class_of_slot,
    classify,
    content_root,
    load_attacks,
    load_fingerprint_classes,
    normalise_field,
)
from isolation_kit.policy import audience
from isolation_kit.scenario import Slot
from isolation_kit.trace import Channel

ATTACKS = load_attacks()
CLASSES = load_fingerprint_classes()
FAMILIES = ("boundary-overflow", "cross-user", "noise-injection", "state-residue", "turn-drift")
each_attack = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
each_class = pytest.mark.parametrize("entry", CLASSES, ids=lambda entry: entry.id)


def test_each_family_ships_attacks() -> None:
    """All five families are there, 38 attacks or more in all, each id once."""
    assert {attack.family for attack in ATTACKS} == set(FAMILIES)
    assert len(ATTACKS) >= 38
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
    texts = {"task", "history", "tool.result", "tool.args", "identifier"}
    assert {o.of for o in overflows} == {*texts, "rounds", "answer"}
    assert {size for o in overflows for size in o.sizes} == {"limit-1", "limit", "limit+1", "10x"}
    assert {o.twist for o in overflows} == {
        "",
        "deep-nesting",
        "many-keys",
        "lone-surrogate",
        "duplicate-keys",
        "newline",
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
