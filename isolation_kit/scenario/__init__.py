"""What to do in one case: users, turns, scripted acts, tool replies, limits. Pure data, no behaviour.

A Scenario is complete: it holds its carrier texts with placeholders `{{canary:slot/user/subject/turn/n}}` and
its seed, so a stored case replays after the content folders have changed, and it never shows a token.
"""

from __future__ import annotations

from isolation_kit.scenario.acts import Act, Answer, Delegate, Limits, Say, Temperament, TurnPlan, UseTool
from isolation_kit.scenario.case import EARLIER_USER, Scenario
from isolation_kit.scenario.places import Place, Slot, check_slot, fill, places_in
from isolation_kit.scenario.schedule import Break, Breaking, Order, Schedule

__all__ = [
    "EARLIER_USER",
    "Act",
    "Answer",
    "Break",
    "Breaking",
    "Delegate",
    "Limits",
    "Order",
    "Place",
    "Say",
    "Scenario",
    "Schedule",
    "Slot",
    "Temperament",
    "TurnPlan",
    "UseTool",
    "check_slot",
    "fill",
    "places_in",
]
