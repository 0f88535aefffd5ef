"""Runs the users of a case in the order of its schedule: one at a time, from one model call to the next.

A gate stands behind each model call: the call is recorded and answered, and the answer is held back until
the schedule lets its turn go on. So turns interleave at their awaits, in an order that no clock decides.
Where a target serialises its turns itself, the step that is next would never come; then all gates open, and
the trace says so.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any

from isolation_kit.scenario import Break, Breaking, Order, Scenario

__all__ = ["Conductor"]

Speak = Callable[[int], Coroutine[Any, Any, bool]]
_PASSES = 100


@dataclass(slots=True)
class _Hold:
    """One answer that is held back."""

    opened: asyncio.Future[None]
    in_thread: bool


@dataclass(slots=True)
class _Lane:
    """One user: turns said one after the other, the running one, and its answers that are held back."""

    left: list[int]
    task: asyncio.Task[bool] | None = None
    holds: list[_Hold] = field(default_factory=list)
    stirred: asyncio.Event = field(default_factory=asyncio.Event)
    fate: Breaking | None = None

    @property
    def over(self) -> bool:
        return not self.left and self.task is None


class Conductor:
    """Lets one user at a time go on, and breaks turns where the schedule says so.

    Args:
        patience: seconds to wait for a turn that was let go on and neither calls a model nor ends. No order
            depends on it: it only bounds the wait for what may never come.
        note: told what did not go as scheduled.
    """

    def __init__(self, scenario: Scenario, patience: float, note: Callable[[str], None]) -> None:
        schedule = scenario.schedule
        spoken = [
            (index, turn.user)
            for index, turn in enumerate(scenario.turns)
            if schedule.only in (-1, turn.user)
        ]
        self._order = schedule.order
        self._breaks = list(schedule.breaks)
        self._lanes = [
            _Lane([index for index, user in spoken if user == one])
            for one in dict.fromkeys(user for _, user in spoken)
        ]
        self._lane_of: dict[int, _Lane] = {index: lane for lane in self._lanes for index in lane.left}
        self._steps: Counter[tuple[int, str]] = Counter()
        self._patience = patience
        self._note = note
        self._loop = asyncio.get_running_loop()
        self._open = schedule.order is Order.SEQUENTIAL and not schedule.breaks
        self.broken: set[int] = set()
        self.stalled = False

    # -- at a model call (any thread) --------------------------------------------------------------------

    def arrived(self, turn: int, agent: str) -> None:
        """Count a step of `turn`, before its call is answered.

        Raises:
            TimeoutError: where the schedule lets this call run out of time.
        """
        item = next((item for item in self._breaks if self._due(item, turn, agent)), None)
        self._steps[turn, ""] += 1
        self._steps[turn, agent] += 1
        if item is None:
            return
        self._breaks.remove(item)
        self.broken.add(turn)
        if item.kind is Breaking.TIMEOUT:
            raise TimeoutError("the model did not answer in time (this case's schedule says so)")
        self._lane_of[turn].fate = item.kind

    def _due(self, item: Break, turn: int, agent: str) -> bool:
        mine = not self._open and item.turn == turn and item.agent in ("", agent)
        return mine and item.step == self._steps[turn, item.agent]

    async def passed(self, turn: int) -> None:
        """Wait until the schedule lets `turn` go on; on whatever event loop."""
        if asyncio.get_running_loop() is self._loop:
            await self._held(turn, False)
        else:
            held = asyncio.run_coroutine_threadsafe(self._held(turn, False), self._loop)
            await asyncio.wrap_future(held)

    def passed_in_thread(self, turn: int) -> None:
        """The same for a caller that blocks. On the target's own event loop nothing may, so there it passes.

        Raises:
            CancelledError: if the turn is cancelled while its answer is held back.
        """
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            asyncio.run_coroutine_threadsafe(self._held(turn, True), self._loop).result()
            return
        if running is self._loop:
            self._note("a model call that blocks the target's event loop passed its gate")

    async def _held(self, turn: int, in_thread: bool) -> None:
        lane = self._lane_of.get(turn)
        if lane is None or lane.task is None or self._open:
            return
        hold = _Hold(self._loop.create_future(), in_thread)
        lane.holds.append(hold)
        lane.stirred.set()
        await hold.opened

    # -- the conversation (the target's event loop) --------------------------------------------------------

    async def conduct(self, speak: Speak) -> tuple[bool, ...]:
        """Say every turn, each as the schedule has it; returns which were answered.

        Raises what a turn raises, but for a turn that the schedule broke: there it is noted.
        """
        answered: list[bool] = []
        try:
            for lane in self._sequence():
                if self._open:
                    break
                await self._advance(lane, speak, answered)
            if self.stalled:
                await asyncio.gather(*(self._rest(lane, speak, answered) for lane in self._lanes))
            for lane in self._lanes:  # one after the other needs no gates, and no patience
                await self._rest(lane, speak, answered)
        finally:
            await self._wound_up()
        return tuple(answered)

    async def _wound_up(self) -> None:
        self._open = True
        for lane in self._lanes:
            _release(lane)
        if tasks := [lane.task for lane in self._lanes if lane.task is not None]:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=self._patience)

    def _sequence(self) -> Iterator[_Lane]:
        """Whose step is next, until everybody is done."""
        if self._order is Order.ROUND_ROBIN:
            while alive := [lane for lane in self._lanes if not lane.over]:
                yield from alive
            return
        back = self._order is Order.REVERSED
        if back:
            yield from self._lanes
        for lane in reversed(self._lanes) if back else self._lanes:
            while not lane.over:
                yield lane

    async def _advance(self, lane: _Lane, speak: Speak, answered: list[bool]) -> None:
        """Let one user go on for one step: to the next model call, or to the end of the turn."""
        lane.stirred.clear()
        if lane.task is None:
            self._begin(lane, speak)
        else:
            _release(lane)
        await self._settled(lane, answered)
        if lane.task is not None and lane.fate is not None and lane.holds:
            await self._broken_off(lane, answered)

    def _begin(self, lane: _Lane, speak: Speak) -> None:
        task = lane.task = asyncio.create_task(speak(lane.left[0]))
        task.add_done_callback(lambda _: lane.stirred.set())

    async def _settled(self, lane: _Lane, answered: list[bool]) -> None:
        if not await self._stirs(lane):
            self._give_up(lane)
        elif lane.task is not None and lane.task.done():
            self._ended(lane, answered)

    async def _stirs(self, lane: _Lane) -> bool:
        """True once the user's turn has come to a gate or to its end."""
        try:
            async with asyncio.timeout(self._patience):
                return await lane.stirred.wait()
        except TimeoutError:
            # On a busy machine the time may be over for want of a processor: then the turn is on its way.
            for _ in range(_PASSES):
                if lane.stirred.is_set():
                    return True
                await asyncio.sleep(0)
            return lane.stirred.is_set()

    def _give_up(self, lane: _Lane) -> None:
        """The step that is next can never come: open every gate, and let the turns run by themselves."""
        if any(other.holds for other in self._lanes if other is not lane):
            self._note(f"turn {lane.left[0]} waits for another turn, so the schedule was given up")
        else:
            self._note(f"turn {lane.left[0]} took long, so the schedule was given up")
        self.stalled = self._open = True
        for other in self._lanes:
            _release(other)

    async def _broken_off(self, lane: _Lane, answered: list[bool]) -> None:
        again = lane.fate is Breaking.RETRY
        lane.fate = None
        task = lane.task
        assert task is not None
        task.cancel()
        for hold in lane.holds:
            if hold.in_thread:
                hold.opened.set_exception(CancelledError())
        await asyncio.wait({task}, timeout=self._patience)
        _release(lane)  # a call in the background of the turn gets its answer after all
        if not task.done():
            self._note(f"turn {lane.left[0]} did not end when it was cancelled")
            return
        turn = lane.left[0]
        self._ended(lane, answered)
        if again:
            lane.left.insert(0, turn)

    def _ended(self, lane: _Lane, answered: list[bool]) -> None:
        task, turn = lane.task, lane.left.pop(0)
        assert task is not None
        lane.task = lane.fate = None
        _release(lane)
        if turn in self.broken and (task.cancelled() or task.exception() is not None):
            answered.append(False)
            return
        answered.append(task.result())

    async def _rest(self, lane: _Lane, speak: Speak, answered: list[bool]) -> None:
        """After the gates were opened: what is left of a user, at the target's own pace."""
        while not lane.over:
            if lane.task is None:
                self._begin(lane, speak)
            assert lane.task is not None
            await asyncio.wait({lane.task})
            self._ended(lane, answered)


def _release(lane: _Lane) -> None:
    for hold in lane.holds:
        if not hold.opened.done():
            hold.opened.set_result(None)
    lane.holds.clear()
