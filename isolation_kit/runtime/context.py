"""The single door into a child's context (article 002, section 5.2): a brief goes in, two messages come out.

Constants and task inputs enter; parent history, reasoning, other children's output and raw tool returns have
no parameter to come through. Values are written as JSON strings, so no text can close its own field.
"""

from __future__ import annotations

from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.messages import Message
from isolation_kit.runtime.text import canonical

__all__ = ["build_child_context"]

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
