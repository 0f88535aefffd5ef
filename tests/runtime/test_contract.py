"""The contract: five parameters, all stated, or no child starts; no value is ever quoted."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.runtime import AllowList, ChildSpec, ModelReply, ParentScope, RunLimits, ToolSpec, delegate
from isolation_kit.runtime.contract import (
    CONTRACT_SCHEMA,
    LEAST_TIMEOUT_MS,
    Contract,
    ContractError,
    declared_fields,
    inner_timeout_ms,
)

SOUND: dict[str, Any] = {
    "context_window_size": 8000,
    "allowed_fields": {"lookup": {"type": "object", "properties": {"amount": {"type": "number"}}}},
    "timeout_ms": 3000,
    "memory_limit_mb": 128,
    "log_level": "ERROR",
}
NAMES = tuple(SOUND)


def test_the_schema_asks_for_the_five_parameters() -> None:
    """No parameter can be left out, and there is no sixth."""
    assert tuple(CONTRACT_SCHEMA["required"]) == tuple(CONTRACT_SCHEMA["properties"]) == NAMES
    assert Contract.from_mapping(SOUND).problem == ""


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_parameter_is_named(name: str) -> None:
    """From a file as an exception, on a contract in code as its problem: the same words."""
    rest = {key: value for key, value in SOUND.items() if key != name}
    with pytest.raises(ContractError, match=f"lacks {name}; allowed is") as caught:
        Contract.from_mapping(rest)
    assert Contract(**rest).problem == str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("context_window_size", 0),
        ("context_window_size", "SECRET"),
        ("context_window_size", True),
        ("timeout_ms", LEAST_TIMEOUT_MS - 1),
        ("timeout_ms", 3000.0),
        ("timeout_ms", math.nan),
        ("memory_limit_mb", -128),
        ("memory_limit_mb", math.inf),
        ("log_level", "SECRET"),
        ("log_level", "info"),
        ("allowed_fields", ["SECRET"]),
        ("allowed_fields", {"lookup": "SECRET"}),
        ("allowed_fields", {"lookup": {"properties": {"SECRET": {}}}}),
        ("allowed_fields", {"lookup": {"type": "SECRET"}}),
        ("allowed_fields", {"SECRET tool": {"type": "object"}}),
        ("allowed_fields", {3: {"type": "object"}}),
        ("SECRET", 1),
        (3, 1),
    ],
    ids=str,
)
def test_a_broken_rule_is_told_without_the_value(name: Any, value: Any) -> None:
    """The message says parameter and rule; what was given may be anything, a secret too."""
    with pytest.raises(ContractError) as caught:
        Contract.from_mapping({**SOUND, name: value})
    assert "SECRET" not in str(caught.value)
    assert name not in NAMES or str(name) in str(caught.value) or name == "timeout_ms"


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=9) | st.binary(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(NAMES) | st.integers() | st.text(max_size=5), inner, max_size=5)
        ),
    )
)
def test_no_garbage_is_a_contract(raw: Any) -> None:
    """Whatever a file holds, the answer is the kit's own error."""
    with pytest.raises(ContractError):
        Contract.from_mapping(raw)


@given(
    st.integers(64, 10_000_000),
    st.integers(LEAST_TIMEOUT_MS, 86_400_000),
    st.integers(16, 1_048_576),
    st.sampled_from(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]),
)
def test_every_contract_within_the_rules_is_sound(window: int, timeout: int, memory: int, level: str) -> None:
    """The clean twin: nothing within the stated ranges is refused."""
    contract = Contract(window, SOUND["allowed_fields"], timeout, memory, level)
    assert contract.problem == ""
    assert contract == Contract.from_mapping({name: getattr(contract, name) for name in NAMES})


@given(st.integers(1, 10_000))
def test_the_inner_limit_ends_before_the_outer(timeout_ms: int) -> None:
    """200 ms before, for every timeout that a contract may state; never nothing."""
    inner = inner_timeout_ms(timeout_ms)
    assert 1 <= inner <= timeout_ms
    assert timeout_ms < LEAST_TIMEOUT_MS or inner == timeout_ms - 200


@pytest.mark.parametrize("name", NAMES)
def test_a_child_that_lacks_a_parameter_does_not_start(
    rig: Callable[..., Any], worker: ChildSpec, name: str
) -> None:
    """Refused before a brief is written; the parent gets a code, the watcher the reason."""
    made = rig({"worker": [ModelReply("done")]})
    broken = replace(worker, contract=replace(worker.contract, **{name: None}))
    result = asyncio.run(delegate(made.runtime, ParentScope("u", "s"), broken, {"request": "SECRET"}))
    ((agent, reason),) = made.watcher.named("refused")
    assert (result.status, result.errors) == ("refused", ("contract_refused",))
    assert (agent, made.scripts["worker"].requests) == ("worker", [])
    assert f"lacks {name}; allowed is" in reason
    assert "SECRET" not in reason


def test_a_spec_without_a_contract_does_not_start(rig: Callable[..., Any], worker: ChildSpec) -> None:
    """There is no default contract."""
    made = rig({"worker": [ModelReply("done")]})
    bare = ChildSpec("worker", "Do it.", worker.tools, worker.inputs)
    result = asyncio.run(delegate(made.runtime, ParentScope("u", "s"), bare, {"request": "x"}))
    assert (result.status, made.scripts["worker"].requests) == ("refused", [])


def test_a_sound_child_starts(rig: Callable[..., Any], worker: ChildSpec) -> None:
    """The clean twin."""
    made = rig({"worker": [ModelReply("done")]})
    result = asyncio.run(delegate(made.runtime, ParentScope("u", "s"), worker, {"request": "x"}))
    assert (result.status, made.watcher.named("refused")) == ("succeeded", [])


def test_a_tool_that_the_contract_does_not_name_keeps_the_child_from_starting(worker: ChildSpec) -> None:
    """`allowed_fields` and the tools must agree, or one of them would be decoration."""
    other = ToolSpec("mail", "Read mail.", fields=AllowList({"type": "object", "properties": {}}))
    assert worker.contract.problem_with(worker.tools) == ""
    assert "declared_fields" in worker.contract.problem_with((*worker.tools, other))
    assert "declared_fields" in worker.contract.problem_with(())


def test_a_text_tool_is_declared_by_its_limit() -> None:
    """Fields as a schema, text as a longest length."""
    page = ToolSpec("page", "Read.", text_limit=30, extract=str.strip)
    assert declared_fields((page,)) == {"page": {"type": "string", "maxLength": 30}}


def test_scaled_limits_override_the_contract(worker: ChildSpec) -> None:
    """A test may shorten what a contract grants; without it the contract holds."""
    assert RunLimits().timeout_of(worker.contract) == 3000
    assert RunLimits(timeout_ms=20).timeout_of(worker.contract) == 20
