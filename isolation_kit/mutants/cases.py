"""Smallest cases, in a few words: what shows a seeded defect and nothing else."""

from __future__ import annotations

from isolation_kit.scenario import Act, Answer, Delegate, Place, Scenario, TurnPlan, UseTool

__all__ = ["NOISE", "TASK", "at", "case", "tool_reply", "turn"]


def at(slot: str, user: int = 0, subject: int = -1, turn: int = 0) -> str:
    """The placeholder of a place."""
    return Place(slot, user, subject, turn).placeholder


def turn(*acts: Act, text: str = "hello", user: int = 0, subject: int = -1) -> TurnPlan:
    """One turn of a user in a session of their own."""
    return TurnPlan(user, text, (*acts, Answer("ok")), f"s{user}", subject)


def case(*turns: TurnPlan) -> Scenario:
    """A quiet case with as many users as its turns name."""
    users = tuple(f"u_{number}" for number in range(1 + max(plan.user for plan in turns)))
    subjects = ("张伟", "李娜") if any(plan.subject >= 0 for plan in turns) else ()
    return Scenario("unit", "unit", 1, turns, users=users, subjects=subjects)


def tool_reply(raw: str) -> Scenario:
    """One delegation whose child reads one tool reply."""
    return case(turn(Delegate(0, "find it", (UseTool(0, "q", raw), Answer("42")))))


TASK = Delegate(0, "find it", (Answer("42"),))
NOISE = at("child.tool.noise")
