"""A support agent that hands tasks to billing through a tool, as the wire shows it."""

from __future__ import annotations

from isolation_kit.target import Agent, Via

TASK_TOOL = {
    "type": "function",
    "function": {
        "name": "ask_billing",
        "parameters": {"properties": {"task": {"type": "string"}}, "required": ["task"]},
    },
}
AGENTS = {"support": Agent(children={"billing": Via("ask_billing")}), "billing": Agent()}
