"""The single door into a child's context (article 002, section 5.2): a brief goes in, two messages come out.

Constants and task inputs enter; parent history, reasoning, other children's output and raw tool returns have
no parameter to come through. Values are written as JSON strings, so no text can close its own field.

The `context` that article 003 lets a supervisor add (4.2) is appended there as one more user message. Here it
is one more input of the brief, and only if the child's contract declares an input of that name.
"""

from __future__ import annotations

from collections.abc import Mapping

from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.messages import Message
from isolation_kit.runtime.text import canonical

__all__ = ["build_child_context", "task_inputs"]

_RULES = (
    "You carry out one task. Use only the tools listed as allowed. Finish with the result alone: "
    "no reasoning, no tool output."
)


def build_child_context(brief: TaskBrief) -> tuple[Message, ...]:
    """The whole initial context of a child. The task's id stays outside: it would tell of other tasks."""
    terms = {
        "goal": brief.goal,
        "allowed_tools": brief.allowed_tools,
        "forbidden_tools": brief.forbidden_tools,
        "acceptance": brief.acceptance,
        "output_schema": brief.output_schema,
        "constraints": brief.constraints,
        "global_context": brief.global_context,
    }
    return (
        Message("system", f"{_RULES}\n{canonical({name: term for name, term in terms.items() if term})}"),
        Message("user", canonical(brief.inputs)),
    )


def task_inputs(arguments: Mapping[str, object], parameter: str) -> Mapping[str, str] | None:
    """The inputs that a model's call of a `task` tool stands for; None if it says no task.

    `context` may be a text or a JSON value. The bridge drops and reports it where it is not declared.
    """
    task, context = arguments.get(parameter), arguments.get("context")
    if not isinstance(task, str):
        return None
    if context is None or parameter == "context":
        return {"request": task}
    try:
        return {"request": task, "context": context if isinstance(context, str) else canonical(context)}
    except (TypeError, ValueError, RecursionError):
        return None
