"""The five parameters without which no child starts (article 000, section 3.2).

They are terms of a contract, not configuration: none has a default, and a contract that lacks one or breaks a
rule keeps its child from starting. A contract is checked once; each delegation only reads the outcome.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from isolation_kit.errors import UsageError

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

    from isolation_kit.runtime.messages import ToolSpec

__all__ = [
    "CONTRACT_SCHEMA",
    "LEAST_TIMEOUT_MS",
    "RESERVE_MS",
    "Contract",
    "ContractError",
    "check_child",
    "declared_fields",
    "inner_timeout_ms",
]

RESERVE_MS = 200
LEAST_TIMEOUT_MS = 2 * RESERVE_MS

_LEVELS: Mapping[str, int] = {
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "CRITICAL": logging.CRITICAL,
}
_TERMS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "context_window_size": (
        {"type": "integer", "minimum": 64, "maximum": 10_000_000},
        "an integer from 64 to 10000000 (tokens), for example 8000",
    ),
    "allowed_fields": (
        {
            "type": "object",
            "propertyNames": {"type": "string", "pattern": r"^[A-Za-z0-9_-]{1,64}\Z"},
            "additionalProperties": {"type": "object", "required": ["type"]},
        },
        "an object that holds a JSON Schema with a type for each tool, for example "
        '{"lookup": {"type": "object", "properties": {"amount": {"type": "number"}}}}, or {} without tools',
    ),
    "timeout_ms": (
        {"type": "integer", "minimum": LEAST_TIMEOUT_MS, "maximum": 86_400_000},
        f"an integer from {LEAST_TIMEOUT_MS} to 86400000 (milliseconds), for example 3000",
    ),
    "memory_limit_mb": (
        {"type": "integer", "minimum": 16, "maximum": 1_048_576},
        "an integer from 16 to 1048576 (MiB), for example 128",
    ),
    "log_level": (
        {"type": "string", "enum": list(_LEVELS)},
        "DEBUG, INFO, WARNING, ERROR or CRITICAL; ERROR is usual",
    ),
}

CONTRACT_SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": list(_TERMS),
    "properties": {name: schema for name, (schema, _) in _TERMS.items()},
    "additionalProperties": False,
}

_UNSTATED: Any = None


class ContractError(UsageError):
    """Terms under which no child may start; the message names parameter and rule, never the value."""


@dataclass(frozen=True, slots=True)
class Contract:
    """What a child may use. Every parameter must be stated; `problem` says which one is not, or is wrong.

    A broken contract can be made and carried, so that the delegation can refuse it with a reason; its other
    fields must not be read then. `from_mapping` is for those who want the exception.

    Args:
        context_window_size: tokens of all that a child's model is sent in one request: messages and tools.
        allowed_fields: a JSON Schema by tool: what of its reply the model may read. See `declared_fields`.
        timeout_ms: milliseconds of a child's whole life, at least 400.
        memory_limit_mb: MiB that a child in a process of its own may use before it is killed.
        log_level: the least level that the child's log keeps.
    """

    context_window_size: int = _UNSTATED
    allowed_fields: Mapping[str, Any] = _UNSTATED
    timeout_ms: int = _UNSTATED
    memory_limit_mb: int = _UNSTATED
    log_level: str = _UNSTATED
    _known: str | None = field(init=False, default=None, repr=False, compare=False)

    @property
    def problem(self) -> str:
        """The missing or wrong parameter and what is allowed, or "". Found out at first use, once."""
        if self._known is None:
            stated = {name: getattr(self, name) for name in _TERMS}
            object.__setattr__(self, "_known", _problem({n: v for n, v in stated.items() if v is not None}))
        return self._known or ""

    @classmethod
    def from_mapping(cls, raw: object) -> Contract:
        """The contract that `raw`, such as a parsed configuration file, states.

        Raises:
            ContractError: if `raw` is no mapping of exactly the five parameters, each as its rule says.
        """
        if not isinstance(raw, Mapping):
            raise ContractError(f"a contract is of type {type(raw).__name__}; it must be an object. {_ASK}")
        if problem := _problem(dict(raw)):
            raise ContractError(problem)
        return cls(**raw)

    @property
    def log_threshold(self) -> int:
        """The number of `log_level` in the logging library."""
        return _LEVELS[self.log_level]

    def problem_with(self, tools: Iterable[ToolSpec]) -> str:
        """Why no child with these tools may start under this contract, or ""."""
        if self.problem:
            return self.problem
        declared = declared_fields(tools)
        if declared == self.allowed_fields:
            return ""
        names = declared.keys() | self.allowed_fields.keys()
        differing = [n for n in names if declared.get(n) != self.allowed_fields.get(n)]
        return (
            f"allowed_fields and the child's tools differ on {len(differing)} of {len(names)} tools; both "
            "must hold the same tools and schemas: state allowed_fields=declared_fields(tools)"
        )


def check_child(name: str, contract: Contract, tools: Iterable[ToolSpec]) -> None:
    """Refuse a child that no delegation would start; for parents, when they are made.

    Raises:
        ContractError: as `Contract.problem_with` says.
    """
    if problem := contract.problem_with(tools):
        raise ContractError(f"child {name!r} could not start: {problem}")


def inner_timeout_ms(timeout_ms: int) -> int:
    """A child's own limit, 200 ms before its parent's: time to pack the result and send it.

    Of a limit under 400 ms, which only a scaled test has, half is left.
    """
    return max(timeout_ms - RESERVE_MS, timeout_ms // 2, 1)


def declared_fields(tools: Iterable[ToolSpec]) -> dict[str, Any]:
    """`allowed_fields` as `tools` declare them: a schema of fields, or text of at most so many characters."""
    return {
        tool.name: {"type": "string", "maxLength": tool.text_limit}
        if tool.fields is None
        else tool.fields.schema
        for tool in tools
    }


_ASK = "State all five of " + ", ".join(_TERMS) + "; none has a default."


def _problem(stated: Mapping[str, Any]) -> str:
    """The first broken rule of `stated` in words of this kit: the library's own quote the value."""
    if any(not isinstance(name, str) for name in stated):
        return f"the contract has a parameter whose name is no text. {_ASK}"
    for name, (_, allowed) in _TERMS.items():
        if name not in stated:
            return f"the contract lacks {name}; allowed is {allowed}. {_ASK}"
    error = next(_validator().iter_errors(stated), None)
    if error is not None:
        return _told(error)
    # JSON Schema calls 1.0 an integer.
    if type(stated["timeout_ms"] + stated["memory_limit_mb"] + stated["context_window_size"]) is not int:
        return f"the contract states a number with a fraction; give whole ones, for example 3000. {_ASK}"
    return _schema_problem(stated["allowed_fields"])


def _told(error: ValidationError) -> str:
    if not error.absolute_path and error.validator == "additionalProperties":
        return f"the contract has an unknown parameter. {_ASK}"
    name = str(error.absolute_path[0]) if error.absolute_path else ""
    rule = str(error.validator)
    if name not in _TERMS:
        return f"the contract is malformed (rule: {rule}). {_ASK}"
    return f"the contract's {name} breaks the rule {rule}; allowed is {_TERMS[name][1]}"


def _schema_problem(allowed: Mapping[str, Any]) -> str:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    for schema in allowed.values():
        try:
            Draft202012Validator.check_schema(schema)
        except (SchemaError, RecursionError) as error:
            rule = error.validator if isinstance(error, SchemaError) else "depth"
            return (
                f"the contract's allowed_fields holds what is no JSON Schema (rule: {rule}); "
                f"allowed is {_TERMS['allowed_fields'][1]}"
            )
    return ""


@cache
def _validator() -> Any:
    # Loaded here: only a parent checks contracts, and its children have no use for so big a library.
    from jsonschema import Draft202012Validator

    return Draft202012Validator(CONTRACT_SCHEMA)
