"""Defects of what a child leaves behind, or shows of itself while it lives, outside of every message.

What they leave goes with the case that made it, so that hunting them leaves nothing on the machine.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from tempfile import NamedTemporaryFile
from typing import Any

from isolation_kit.finding import Direction
from isolation_kit.mutants.cases import at, case, tool_reply, turn
from isolation_kit.mutants.catalogue import Mutant, leaky
from isolation_kit.runtime import (
    CLEAN,
    Message,
    ParentScope,
    Parts,
    SubAgentResult,
    TaskBrief,
    build_child_context,
)
from isolation_kit.runtime.text import canonical
from isolation_kit.scenario import Delegate
from isolation_kit.trace import Channel

__all__ = ["MUTANTS"]

_WAITS = (b"/bin/sh", b"-c", b"read _", b"child")


def _printable(brief: TaskBrief) -> bytes:
    """A brief's inputs as an argument or a variable can hold them."""
    return canonical(brief.inputs).encode("utf-8", "replace").replace(b"\0", b"")


def _parameter_file() -> Parts:
    left = []

    def by_file(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        file = NamedTemporaryFile("w", suffix=".json", encoding="utf-8", errors="replace")  # noqa: SIM115
        file.write(canonical(brief.to_dict()))
        file.flush()
        left.append(file)
        return build_child_context(brief)

    return replace(CLEAN, child_context=by_file)


def _secret_in_arguments() -> Parts:
    running: list[subprocess.Popen[bytes]] = []

    def with_helper(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        command = (*_WAITS, _printable(brief)[:4096])
        running.append(subprocess.Popen(command, stdin=subprocess.PIPE))  # noqa: S603
        return build_child_context(brief)

    def with_its_end(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
        running.pop().communicate()
        return result.to_dict()

    return replace(CLEAN, child_context=with_helper, pack_result=with_its_end)


def _secret_in_environment() -> Parts:
    def exported(brief: TaskBrief, scope: ParentScope) -> tuple[Message, ...]:
        os.environ["CHILD_TASK"] = (
            canonical(brief.inputs).encode("utf-8", "replace").decode().replace("\0", "")
        )
        return build_child_context(brief)

    def unset(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
        os.environ.pop("CHILD_TASK", None)
        return result.to_dict()

    return replace(CLEAN, child_context=exported, pack_result=unset)


def _warm_worker() -> Parts:
    worker_globals: dict[str, list[Message]] = {}
    folder = NamedTemporaryFile("w", suffix=".cache", encoding="utf-8", errors="replace")  # noqa: SIM115

    def kept_warm(result: SubAgentResult, memory: list[Message]) -> Mapping[str, Any]:
        worker_globals["last job"] = memory
        folder.writelines(message.content for message in memory)
        folder.flush()
        return result.to_dict()

    return replace(CLEAN, pack_result=kept_warm)


m46_parameter_file = leaky("task", "m46_parameter_file", _parameter_file)
m48_secret_in_arguments = leaky("task", "m48_secret_in_arguments", _secret_in_arguments)
m48_secret_in_environment = leaky("task", "m48_secret_in_environment", _secret_in_environment)
m65_warm_worker = leaky("task", "m65_warm_worker", _warm_worker)

_TASK_OF_ONE = case(turn(Delegate(0, f"for {at('task.input')}")))

MUTANTS = (
    Mutant(
        46,
        "m46_parameter_file",
        "a child's parameters are left in a temporary file",
        "task",
        m46_parameter_file,
        oracle="destroy",
        slot="task.input",
        channel=Channel.ARTIFACT,
        direction=Direction.OUT,
        alone=True,
        smallest=_TASK_OF_ONE,
    ),
    Mutant(
        48,
        "m48_secret_in_arguments",
        "the task stands in the arguments of the child's process, which any process can read",
        "task",
        m48_secret_in_arguments,
        oracle="destroy",
        slot="task.input",
        channel=Channel.ENVIRONMENT,
        direction=Direction.OUT,
        alone=True,
        link="article 000 section 4.5",
        smallest=_TASK_OF_ONE,
    ),
    Mutant(
        48,
        "m48_secret_in_environment",
        "the task stands in the environment while the child lives",
        "task",
        m48_secret_in_environment,
        oracle="destroy",
        slot="task.input",
        channel=Channel.ENVIRONMENT,
        direction=Direction.OUT,
        alone=True,
        link="article 000 section 4.5",
        smallest=_TASK_OF_ONE,
    ),
    Mutant(
        65,
        "m65_warm_worker",
        "a warm worker keeps its globals and its temporary folder",
        "task",
        m65_warm_worker,
        oracle="destroy",
        slot="child.tool.result",
        channel=Channel.PROCESS_MEMORY,
        direction=Direction.OUT,
        link="article 000 section 5.5",
        smallest=tool_reply(f'{{"description": "{at("child.tool.result")}"}}'),
    ),
)
