"""Defects in what is handed over: a session id, a follow-up without its item, fields that nobody declared."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet

from isolation_kit.finding import Direction, Verdict
from isolation_kit.mutants.cases import TASK, at, case, tool_reply, turn
from isolation_kit.mutants.catalogue import Mutant, leaky
from isolation_kit.mutants.replies import as_it_came
from isolation_kit.runtime import (
    CLEAN,
    AllowList,
    ChildSpec,
    Dropped,
    ParentScope,
    Parts,
    Runtime,
    SubAgentResult,
    TaskBrief,
    ToolSpec,
    inline,
)
from isolation_kit.runtime.bridge import TaskRequest
from isolation_kit.runtime.parts import write_brief
from isolation_kit.runtime.text import Digest, canonical
from isolation_kit.runtime.tools import ToolText, filter_tool_result
from isolation_kit.runtime.wire import contract_pb2 as wire
from isolation_kit.scenario import Delegate
from isolation_kit.targets.reference import (
    BILL_INPUTS,
    clean_parts,
    make_reference_rules,
    make_reference_task,
)
from isolation_kit.trace import Channel

__all__ = ["MUTANTS"]


def _session_id() -> Parts:
    def with_session(
        scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str], digest: Digest
    ) -> TaskBrief:
        brief = write_brief(scope, spec, inputs, digest)
        return replace(brief, constraints=(*brief.constraints, f"session: {scope.session}"))

    return replace(CLEAN, write_brief=with_session)


def _item_dropped() -> Parts:
    def question_only(
        scope: ParentScope, spec: ChildSpec, inputs: Mapping[str, str], digest: Digest
    ) -> TaskBrief:
        asked = {name: text for name, text in inputs.items() if name in ("person", "question")}
        return write_brief(scope, spec, asked if "question" in inputs else inputs, digest)

    return replace(CLEAN, write_brief=question_only)


async def _newer_executor(
    runtime: Runtime, scope: ParentScope, spec: ChildSpec, request: TaskRequest
) -> bytes:
    """A launcher whose executor was built with a field more: number 15, its trace."""
    return await inline(runtime, scope, spec, request) + bytes((15 << 3 | 2, 5)) + b"trace"


def _unknown_fields_kept() -> Parts:
    def with_unknown(
        data: bytes, declared: AllowList, digest: Digest
    ) -> tuple[SubAgentResult, tuple[Dropped, ...]]:
        result, dropped = as_it_came(data, declared, digest)
        message = wire.TaskResponse.FromString(data)
        unknown = {f"field_{item.field_number}": item.data.decode() for item in UnknownFieldSet(message)}
        return replace(result, key_outputs={**result.key_outputs, **unknown}), dropped

    return replace(CLEAN, read_result=with_unknown)


def _last_of_two() -> Parts:
    def by_the_first(raw: str, tool: ToolSpec, limit: int, digest: Digest) -> ToolText:
        try:
            first = json.loads(raw, object_pairs_hook=lambda pairs: dict(reversed(pairs)))
            last: Any = json.loads(raw)
        except (ValueError, RecursionError):
            return filter_tool_result(raw, tool, limit, digest)
        if first == last:
            return filter_tool_result(raw, tool, limit, digest)
        seen = filter_tool_result(canonical(first), tool, limit, digest)
        if seen.reason:
            return seen
        used = {
            key: last[key] if first[key] != last[key] else kept for key, kept in json.loads(seen.text).items()
        }
        return replace(seen, text=canonical(used))

    return replace(CLEAN, filter_tool_result=by_the_first)


async def _by_pattern(runtime: Runtime, scope: ParentScope, spec: ChildSpec, request: TaskRequest) -> bytes:
    """A launcher that hands a request which looks like an identifier down as one; `$` lets a newline in."""
    inputs = request.brief.inputs
    if re.match(BILL_INPUTS["properties"]["bill_id"]["pattern"], inputs.get("request", "")):
        named = {"person": inputs["person"], "bill_id": inputs["request"]}
        request = replace(request, brief=replace(request.brief, inputs=named))
    return await inline(runtime, scope, spec, request)


m13_unknown_fields_kept = make_reference_task(
    _unknown_fields_kept, "m13_unknown_fields_kept", _newer_executor
)
m15_last_of_two = leaky("task", "m15_last_of_two", _last_of_two)
m18_newline_accepted = make_reference_rules(clean_parts, "m18_newline_accepted", _by_pattern)
m66_session_id = leaky("task", "m66_session_id", _session_id)
m68_item_dropped = leaky("rules", "m68_item_dropped", _item_dropped)

_ITEM = Delegate(0, at("task.input", subject=0))

MUTANTS = (
    Mutant(
        13,
        "m13_unknown_fields_kept",
        "a protobuf field that this side does not know is taken along",
        "task",
        m13_unknown_fields_kept,
        oracle="contract",
        slot="field.field_#",
        channel=Channel.RESULT,
        direction=Direction.UP,
        smallest=case(turn(TASK)),
    ),
    Mutant(
        15,
        "m15_last_of_two",
        "of a key that stands twice the first is checked and the last is used",
        "task",
        m15_last_of_two,
        oracle="contract",
        slot="field.debug",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        link="https://github.com/Dicklesworthstone/destructive_command_guard/issues/410",
        smallest=tool_reply('{"amount": 1, "amount": {"debug": 1}}'),
    ),
    Mutant(
        18,
        "m18_newline_accepted",
        "an identifier's pattern accepts a newline at its end",
        "rules",
        m18_newline_accepted,
        oracle="contract",
        slot="field.bill_id",
        channel=Channel.CHILD_CONTEXT,
        direction=Direction.DOWN,
        smallest=case(turn(Delegate(0, "B_17\n"))),
    ),
    Mutant(
        66,
        "m66_session_id",
        "the session's id stands in the brief",
        "task",
        m66_session_id,
        oracle="canary",
        slot="parent.session_id",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        link="article 000 section 3.3",
        smallest=case(turn(TASK)),
    ),
    Mutant(
        68,
        "m68_item_dropped",
        "the brief of a follow-up drops the item that it is about",
        "rules",
        m68_item_dropped,
        oracle="controls",
        slot="task.input",
        channel=Channel.CHILD_REQUEST,
        direction=Direction.DOWN,
        kind=Verdict.LOSS,
        link="article 000 section 2.2",
        smallest=case(turn(_ITEM, subject=0), turn(_ITEM, subject=0)),
    ),
)
