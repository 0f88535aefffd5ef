"""The state of one running case: open turns, delegations, scripts, and whose call is whose."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from isolation_kit.scenario import Act, Delegate, Place, Scenario, fill
from isolation_kit.stage.delegations import Delegations, user_text
from isolation_kit.stage.puppet import Delegation, ModelCall, ModelReply, Puppet
from isolation_kit.stage.recorder import Recorder, clean_headers
from isolation_kit.stage.schedule import Conductor
from isolation_kit.target import Declaration, Turn
from isolation_kit.trace import Channel, Lifecycle

__all__ = ["CURRENT_TURN", "Case"]

CURRENT_TURN: ContextVar[int] = ContextVar("isolation_kit_current_turn", default=-1)

P = ParamSpec("P")
R = TypeVar("R")

_REF = re.compile(r"\[ref:t(\d+)(?:\.c\d+)?\]")


def _one_at_a_time(method: Callable[Concatenate[Case, P], R]) -> Callable[Concatenate[Case, P], R]:
    """Model calls may come in on the endpoint's thread while the target's own thread records."""

    @wraps(method)
    def locked(self: Case, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.lock:
            return method(self, *args, **kwargs)

    return locked


class Case:
    """One execution of one Scenario against one target.

    Args:
        fresh: stands before every user and session name. A target that stays up over cases would else meet
            the users of the case before, and keep for them what it rightly keeps. In front, so that names
            that begin alike still do.
    """

    def __init__(
        self, scenario: Scenario, declaration: Declaration, recorder: Recorder, fresh: str = ""
    ) -> None:
        self.scenario = scenario
        self.declaration = declaration
        self.recorder = recorder
        self.fresh = fresh
        self.puppet = Puppet(declaration, self.fill, self._on_delegate, self._call_id, self._somebody_else)
        self.conductor: Conductor | None = None
        self._call_ids: Counter[int] = Counter()
        self.open: set[int] = set()
        self.delegations = Delegations(recorder)
        self._root: dict[int, deque[Act]] = {}
        self._root_replies: dict[int, deque[str]] = {}
        self._static: dict[tuple[str, int], int] = {}
        self.begun = False
        self._offered: dict[tuple[str, int], tuple[Mapping[str, Any], ...]] = {}
        self.lock = threading.RLock()
        self.workdir = ""  # the stage's folder, once the target has asked for it
        self.watch: Callable[[], None] = _nothing  # looks around while a child lives

    # -- texts and tokens --------------------------------------------------------------------------------

    def fill(self, text: str, agent: str = "", instance: int = -1, tool: str = "") -> str:
        """`text` with its placeholders replaced by live canaries, which stay whole in a text of JSON."""
        quoted = text.lstrip()[:1] in ("{", "[")

        def planted(place: Place) -> str:
            given = self.recorder.plant(place, agent, instance, tool)
            return json.dumps(given, ensure_ascii=False)[1:-1] if quoted and '"' in given else given

        return fill(text, planted)

    def static_place(self, slot: str, turn: int) -> Place:
        """A fresh place for `stage.text`: the system's own, or a turn's user's."""
        user = self.scenario.turns[turn].user if turn >= 0 else -1
        # In a schedule each user counts alone, so that others do not move what is planted for this one.
        counted = (slot, user if self.scenario.schedule.gated else -1)
        n = self._static.get(counted, 0)
        self._static[counted] = n + 1
        return Place(slot, user=user, turn=turn - self.scenario.lead if turn >= 0 else -1, n=n)

    def keep_places(self, standing: Iterable[Place]) -> None:
        """Leave out the places that a kept target planted when it was built: those are taken."""
        for place in standing:
            counted = (place.slot, -1)
            self._static[counted] = max(self._static.get(counted, 0), place.n + 1)

    # -- turns -------------------------------------------------------------------------------------------

    @_one_at_a_time
    def begin(self, index: int) -> Turn:
        """Open a turn and return it as the system under test gets it, its tokens planted."""
        plan = self.scenario.turns[index]
        self.begun = True
        self.open.add(index)
        self._root[index] = deque(plan.acts)
        self._root_replies[index] = deque()
        text = user_text(self.scenario, self.declaration, index, self.delegations.start, self.fill)
        if self.scenario.at_once:
            text += f" [ref:t{index}]"
        user = self.scenario.users[plan.user]
        return Turn(index, f"{self.fresh}{user}", f"{self.fresh}{plan.session}", text)

    @_one_at_a_time
    def end(self, index: int) -> None:
        """Close a turn: what is left of its scripts is dropped."""
        self.open.discard(index)
        self._root.pop(index, None)
        self.delegations.end(index)

    # -- whose call it is ---------------------------------------------------------------------------------

    def _on_delegate(self, child: str, plan: Delegate, by: tuple[str, int]) -> str:
        turn = CURRENT_TURN.get() if CURRENT_TURN.get() >= 0 else next(iter(self.open), -1)
        delegation = self.delegations.start(child, turn, plan, by)
        if self.scenario.schedule.gated:
            return f"[ref:t{turn}.c{self.delegations.number(delegation)}]"
        return f"[ref:t{turn}.c{delegation.instance}]" if self.scenario.concurrent else ""

    def _somebody_else(self) -> str:
        turn = CURRENT_TURN.get()
        user = self.scenario.turns[turn].user if turn >= 0 else 0
        return f"{self.fresh}{self.scenario.somebody_else(user)}"

    def _call_id(self) -> str:
        """A tool call's id; in a schedule each turn counts its own, so that others do not move it."""
        turn = CURRENT_TURN.get() if self.scenario.schedule.gated else -1
        self._call_ids[turn] += 1
        return f"call_{f't{turn}_' if turn >= 0 else ''}{self._call_ids[turn]:06d}"

    def speaker(self) -> int:
        """In a schedule, the user whose turn is running: what is counted for one is not moved by others."""
        turn = CURRENT_TURN.get()
        return self.scenario.turns[turn].user if turn >= 0 and self.scenario.schedule.gated else -1

    def turn_of(self, body: str = "") -> int:
        """The turn of the running call: by task context, by being the only open one, or by its ref."""
        current = CURRENT_TURN.get()
        if current in self.open:
            return current
        if len(self.open) == 1:
            return next(iter(self.open))
        refs = _REF.findall(body)
        return int(refs[-1]) if refs and int(refs[-1]) in self.open else -1

    # -- model calls -------------------------------------------------------------------------------------

    def reply(self, call: ModelCall) -> ModelReply:
        """Record a model call at its recipient and let the puppet answer it; for callers that block."""
        turn, reply = self._answered(call)
        if self.conductor is not None:
            self.conductor.passed_in_thread(turn)
        return reply

    async def answer(self, call: ModelCall) -> ModelReply:
        """The same, for callers that await: in a schedule the answer is held back until its turn goes on."""
        turn, reply = self._answered(call)
        if self.conductor is not None:
            await self.conductor.passed(turn)
        return reply

    @_one_at_a_time
    def _answered(self, call: ModelCall) -> tuple[int, ModelReply]:
        body = _dump({"messages": call.messages, **call.extra})
        turn = self.turn_of(body)
        # What the reply starts belongs to this turn, on the endpoint's thread as well.
        token = CURRENT_TURN.set(turn)
        try:
            if self.conductor is not None:
                self._arrived(self.conductor, call, body, turn)
            return turn, self._reply(call, body, turn)
        finally:
            CURRENT_TURN.reset(token)

    def _arrived(self, conductor: Conductor, call: ModelCall, body: str, turn: int) -> None:
        """Count the step; a call that is to run out of time is recorded, and takes no act of the script."""
        try:
            conductor.arrived(turn, call.agent)
        except TimeoutError:
            child = call.agent != self.declaration.root
            delegation = self.delegations.of(call.agent, turn, body) if child else None
            self._record_call(call, body, turn, delegation)
            raise

    def _reply(self, call: ModelCall, body: str, turn: int) -> ModelReply:
        if call.agent not in self.declaration.agents:
            self._record_call(call, body, turn, None)
            self.recorder.problems.append("a model call named no declared agent")
            return ModelReply("done")
        if call.agent == self.declaration.root:
            return self._root_reply(call, body, turn)
        return self._child_reply(call, body, turn)

    def _root_reply(self, call: ModelCall, body: str, turn: int) -> ModelReply:
        self._record_call(call, body, turn, None)
        queue = self._root.get(turn)
        if queue is None:
            self.recorder.problems.append("a call of the root agent could not be attributed to a turn")
            return ModelReply("done")
        reply, _ = self.puppet.reply(call, queue, self.scenario.root, self._root_replies[turn])
        self._take_problems()
        return reply

    def _child_reply(self, call: ModelCall, body: str, turn: int) -> ModelReply:
        delegation = self.delegations.of(call.agent, turn, body)
        self._record_call(call, body, turn, delegation)
        if delegation is None:
            self.recorder.problems.append(f"a call of child {call.agent!r} belongs to no delegation")
            return ModelReply("done")
        if delegation.calls == 0:
            self.recorder.life(Lifecycle.SPAWNED, call.agent, delegation.instance, delegation.turn)
        delegation.calls += 1
        self.watch()
        reply, delegation.done = self.puppet.reply(
            call, delegation.queue, self.scenario.child, delegation.replies, delegation.instance
        )
        self._take_problems()
        if delegation.done:
            self.delegations.answered(delegation)
        return reply

    def _take_problems(self) -> None:
        self.recorder.problems += self.puppet.problems
        self.puppet.problems.clear()

    def _record_call(self, call: ModelCall, body: str, turn: int, delegation: Delegation | None) -> None:
        root = call.agent == self.declaration.root
        channel = Channel.PARENT_REQUEST if root else Channel.CHILD_REQUEST
        self._record(channel, call.agent, body, turn=turn, delegation=delegation)
        if root:
            return
        offered = (call.agent, delegation.instance if delegation else -1)
        if call.tools and self._offered.get(offered) != call.tools:
            # Once per instance and change: every request would say the same.
            self._offered[offered] = call.tools
            self._record(Channel.CHILD_TOOLS, call.agent, _dump(call.tools), turn=turn, delegation=delegation)
        if call.headers and (headers := clean_headers(call.headers)):
            self._record(Channel.CHILD_HEADERS, call.agent, _dump(headers), turn=turn, delegation=delegation)

    # -- recording ---------------------------------------------------------------------------------------

    @_one_at_a_time
    def record(
        self, channel: Channel, agent: str, data: bytes | str, *, turn: int | None = None, tool: str = ""
    ) -> None:
        """Append an event with everything that is known about whose it is."""
        self._record(channel, agent, data, turn=turn, tool=tool)

    def _record(
        self,
        channel: Channel,
        agent: str,
        data: bytes | str,
        *,
        turn: int | None = None,
        delegation: Delegation | None = None,
        tool: str = "",
    ) -> None:
        if turn is None:
            turn = self.turn_of()
        if delegation is None and turn >= 0 and agent != self.declaration.root:
            came_up = channel is Channel.RESULT
            delegation = (self.delegations.came_up if came_up else self.delegations.of)(agent, turn)
        plan = self.scenario.turns[turn] if turn >= 0 else None
        # By the built-in types' own means: a subclass of the target's could say what is not so.
        data = str.encode(data, "utf-8", "surrogatepass") if isinstance(data, str) else b"".join((data,))
        instance = -1 if delegation is None else delegation.instance
        whose = (-1, "", turn, -1) if plan is None else (plan.user, plan.session, turn, plan.subject)
        self.recorder.record(channel, agent, data, instance, *whose, tool)

    @_one_at_a_time
    def tool_reply(self, name: str, agent: str, query: str) -> str:
        """The scripted reply of a tool, with arguments and raw result recorded."""
        turn = self.turn_of(query)
        child = agent != self.declaration.root
        delegation = self.delegations.of(agent, turn) if child else None
        if child:
            self._record(Channel.CHILD_TOOL_ARGS, agent, query, turn=turn, delegation=delegation, tool=name)
        queue = delegation.replies if delegation else self._root_replies.get(turn, deque())
        reply = self.fill(
            queue.popleft() if queue else "{}",
            agent if child else "",
            delegation.instance if delegation else -1,
            name,
        )
        if child:
            self._record(Channel.CHILD_TOOL_RESULT, agent, reply, turn=turn, delegation=delegation, tool=name)
        return reply


def _nothing() -> None:
    """Nobody looks."""


def _jsonable(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_jsonable).encode
