"""What the users of a load run say: turns made of the carriers in attacks/, one token a slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from json import dumps, loads
from typing import Any

from isolation_kit.content import TOKEN, Attack
from isolation_kit.errors import UsageError
from isolation_kit.scenario import Answer, Delegate, Place, Scenario, Slot, TurnPlan, UseTool, fill

__all__ = ["FAMILIES", "SLOTS", "Script", "check_families", "scripts_of"]

FAMILIES = ("cross-user", "noise-injection", "boundary-overflow")
WINDOW = 4000  # characters of a task at which the reference runtime cuts
_PEOPLE = ("张伟", "李娜", "Ann Lee", "王芳")
_SAYS, _TASK = str(Slot.USER_CURRENT), str(Slot.TASK_INPUT)
_ANSWER, _NOISE = str(Slot.CHILD_ANSWER), str(Slot.CHILD_TOOL_NOISE)
SLOTS = (_SAYS, _TASK, _ANSWER, _NOISE)  # each turn plants all of them


@dataclass(frozen=True, slots=True)
class Script:
    """One kind of turn, with placeholders.

    Attributes:
        text: what the user says; the task stands between 〔 and 〕.
        reply: the raw reply of the child's tool.
        again: a follow-up that names no reference, for parents that keep steps; "" without one.
        subject: the person whom the turn is about.
    """

    family: str
    attack: str
    text: str
    reply: str
    task: str
    subject: str
    again: str = ""

    def filled(self, text: str, tokens: Mapping[str, str]) -> str:
        """`text` with the tokens of one turn, by slot."""
        return fill(text, lambda place: tokens[place.slot])

    def scenario(self, seed: int) -> Scenario:
        """Two users who say it at once: the case that stands for what this turn showed."""
        acts = (
            Delegate(0, self.task, (UseTool(0, "look it up", self.reply), Answer("Done."))),
            Answer("Done, see above."),
        )
        one = TurnPlan(0, self.text, acts, "s_a")
        two = TurnPlan(1, _of_other_user(self.text), tuple(map(_act_of_other_user, acts)), "s_b")
        return Scenario(self.family, self.attack, seed, (one, two), users=("u_a", "u_b"), concurrent=True)


def scripts_of(
    attacks: Sequence[Attack], families: Sequence[str] = FAMILIES, *, target: str = "task"
) -> tuple[Script, ...]:
    """The turns of all attacks of `families`, two of each: one in each half of its carriers.

    Args:
        target: `rules` words the turns so that the reference rules route them.

    Raises:
        UsageError: for a family that does not exist, or without any attack left.
    """
    check_families(families)
    found = [attack for attack in attacks if attack.family in families and _speaks(attack)]
    if not found:
        raise UsageError("none of the attacks has words for a user and a task; add the shipped ones back")
    by_family = [[attack for attack in found if attack.family == family] for family in families]
    rounds = zip_longest(*(_all_of(mine, target) for mine in by_family if mine))
    return tuple(script for scripts in rounds for script in scripts if script is not None)


def check_families(families: Sequence[str]) -> None:
    """Refuse a name that is no family.

    Raises:
        UsageError: names those that there are.
    """
    for family in families:
        if family not in FAMILIES:
            raise UsageError(
                f"family {family[:40]!r} is unknown; allowed: {', '.join(FAMILIES)}; for example "
                f"{FAMILIES[0]}"
            )


def _all_of(attacks: Sequence[Attack], target: str) -> list[Script]:
    """Families take turns, so that a short run reaches all of them."""
    return [
        _script(attack, pick, target)
        for pick in range(2)
        for attack in attacks
        for _ in range(_weight(attack))
    ]


def _weight(attack: Attack) -> int:
    """Overflows cost ten times as much as others: one in four of their variants is enough."""
    return 1 if attack.family == "boundary-overflow" else 3


def _speaks(attack: Attack) -> bool:
    """True unless the twist of its overflow lies in what HTTP in JSON cannot carry, or in an identifier."""
    blown = attack.overflow
    return blown is None or (
        blown.twist != "lone-surrogate" and blown.of in ("task", "history", "tool.result")
    )


def _script(attack: Attack, pick: int, target: str) -> Script:
    subject = _PEOPLE[(len(attack.id) + pick) % len(_PEOPLE)]
    said = _carrier(attack, _SAYS, pick)
    task = _carrier(attack, _TASK, pick).translate({ord("〔"): "(", ord("〕"): ")"})
    blown = attack.overflow
    if blown is not None and blown.of == "task":
        task = _padded(task, blown.sizes[pick % len(blown.sizes)], blown.atoms[pick % len(blown.atoms)])
    asked = f"查{subject}的账单 编号〔{task}〕" if target == "rules" else f"〔{task}〕"
    return Script(
        family=attack.family,
        attack=attack.id,
        text=f"{said.translate({ord('〔'): '(', ord('〕'): ')'})} {asked}",
        reply=_reply(attack, pick),
        task=task,
        subject=subject,
        again=f"{subject}的账单最便宜吗" if target == "rules" else "",
    )


def _carrier(attack: Attack, slot: str, pick: int) -> str:
    """A text of the attack for a slot, or plain words where it has none."""
    found = [item.text for item in attack.carriers if item.slot == slot and item.shape == "text"]
    text = found[pick % len(found)] if found else f"number {TOKEN}"
    return text.replace(TOKEN, Place(slot).placeholder)


def _reply(attack: Attack, pick: int) -> str:
    """The raw reply of a tool: what the child is to answer, and the attack's noise beside it."""
    value: dict[str, Any] = {"description": f"on record {Place(_ANSWER).placeholder}", "status": "open"}
    noise = [item.text for item in attack.carriers if item.slot == _NOISE and item.shape == "json"]
    text = noise[pick % len(noise)] if noise else f'{{"trace_id": "{TOKEN}"}}'
    extra = loads(text.replace(TOKEN, Place(_NOISE).placeholder))
    reply = dumps({**extra, **value}, ensure_ascii=False)
    blown = attack.overflow
    if blown is None or blown.of != "tool.result":
        return reply
    if blown.twist == "many-keys":
        return dumps(
            {**loads(reply), **{f"key_{number}": number for number in range(400)}}, ensure_ascii=False
        )
    if blown.twist:
        return reply
    return f"{reply[:-1]}, {dumps('page')}: {dumps('x' * WINDOW)}}}"


def _padded(task: str, size: str, atom: str) -> str:
    """`task` blown up behind its token, so that what must arrive stands in the part that is kept."""
    length = {"limit-1": WINDOW - 1, "limit": WINDOW, "limit+1": WINDOW + 1, "10x": 10 * WINDOW}[size]
    missing = max(0, length - len(task))
    return task + (atom * (missing // len(atom) + 1))[:missing]


def _of_other_user(text: str) -> str:
    return fill(text, lambda place: place._replace(user=1, turn=1).placeholder)


def _act_of_other_user(act: Any) -> Any:
    match act:
        case Delegate(child, task, inner, constants, required):
            acts = tuple(map(_act_of_other_user, inner))
            return Delegate(child, _of_other_user(task), acts, constants, required)
        case UseTool(tool, query, reply):
            return UseTool(tool, query, _of_other_user(reply))
        case _:
            return act
