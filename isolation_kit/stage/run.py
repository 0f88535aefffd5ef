"""Runs cases against one target: one worker thread that owns the target's event loop, with a time limit."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import re
import threading
from collections.abc import Callable, Coroutine
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from isolation_kit.errors import IsolationKitError, TargetError, TargetRefused, TargetTimeout, UsageError
from isolation_kit.scenario import Scenario
from isolation_kit.stage.aftermath import Aftermath
from isolation_kit.stage.case import CURRENT_TURN, Case
from isolation_kit.stage.chance import Dice
from isolation_kit.stage.guard import Guard
from isolation_kit.stage.logs import LogTap
from isolation_kit.stage.quoting import quoted
from isolation_kit.stage.recorder import Ledger, Recorder
from isolation_kit.stage.schedule import Conductor
from isolation_kit.stage.stage import Stage
from isolation_kit.stage.under_test import Say, call, describe, from_kit, opened
from isolation_kit.target import Declaration
from isolation_kit.trace import Channel, Trace

__all__ = ["Runner"]

T = TypeVar("T")
_RUNS = itertools.count()
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_PATIENCE, _LEAST_PATIENCE = 1.0, 0.05  # seconds that a schedule waits for a turn which may never come


def _no_endpoint(stage: Stage) -> str:
    raise UsageError("this runner has no endpoint; use stage.model(agent), or run it through the audit")


class Runner:
    """Executes scenarios against one declared target and returns their traces.

    Args:
        timeout: seconds for one case; past it the thread is abandoned and the target is not run again.
        endpoint: gives the puppets' base URL for a stage; absent, only in-process models work.
    """

    def __init__(
        self,
        declaration: Declaration,
        ledger: Ledger,
        *,
        timeout: float = 20.0,
        endpoint: Callable[[Stage], str] = _no_endpoint,
    ) -> None:
        self.declaration = declaration
        self.ledger = ledger
        self.executions = 0
        self.abandoned = ""
        self._timeout = timeout
        self._tap = LogTap()
        self._endpoint = endpoint
        self._run_id = f"r{next(_RUNS)}"
        self._kept: contextlib.AsyncExitStack | None = None
        self._kept_say: Say | None = None
        self._stage: Stage | None = None
        self._guard = Guard()
        self._dice = Dice()
        self._patience = min(_PATIENCE, timeout / 4)
        self._loop = asyncio.new_event_loop()
        self._jobs: SimpleQueue[tuple[Coroutine[Any, Any, Any], SimpleQueue[Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="isolation-target", daemon=True)
        self._thread.start()
        logging.getLogger().addHandler(self._tap)

    def _serve(self) -> None:
        """The worker: one job after the other on one event loop, until there is none."""
        self._guard.watch()
        asyncio.set_event_loop(self._loop)
        while (job := self._jobs.get()) is not None:
            work, answers = job
            answers.put(self._loop.run_until_complete(work))
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Let the worker do `work`.

        Raises:
            TargetTimeout: past the time limit; the thread is abandoned.
        """
        answers: SimpleQueue[T] = SimpleQueue()
        self._jobs.put((work, answers))
        try:
            return answers.get(timeout=self._timeout)
        except KeyboardInterrupt:
            # The worker is busy: nobody may wait for it when the run is wound up.
            self.abandoned = "the run was interrupted"
            self._loop.call_soon_threadsafe(_cancel_all, self._loop)
            raise
        except Empty:
            self._loop.call_soon_threadsafe(_cancel_all, self._loop)
            self.abandoned = (
                f"the target was still running after {self._timeout:g} s; its thread was abandoned and no "
                "further case of this target is run in this process (raise case_timeout in isolation.toml, "
                "or make the target stop)"
            )
            raise TargetTimeout(self.abandoned) from None

    def execute(self, scenario: Scenario, digest: str = "", *, inspect: bool = False) -> Trace:
        """Run one case. Whatever the target does, a Trace comes back.

        Its `error` and `refused` tell of trouble. `digest` is the base case's, where the caller knows it.
        `inspect`: also look around for what is left after the children's end and after the case.
        """
        recorder = Recorder(self.ledger, scenario, digest or scenario.base_digest())
        if self.abandoned:
            return recorder.trace(error=self.abandoned)
        self.executions += 1
        self._dice.throw(recorder.case)
        fresh = f"c{self.executions:06d}-" if self.declaration.scope == "campaign" else ""
        case = Case(scenario, self.declaration, recorder, fresh)
        look = Aftermath(case) if inspect else None
        try:
            answered, error = self._run(self._guarded(case, look))
        except TargetTimeout as late:
            answered, error = (), str(late)
        trace = recorder.trace(answered, error, case.delegations.handovers())
        return replace(trace, aftermath=look.remnants, unlooked=look.unlooked) if look else trace

    async def _guarded(self, case: Case, look: Aftermath | None) -> tuple[tuple[bool, ...], str]:
        self._tap.case = case
        try:
            with self._guard.active(case.recorder.problems.append):
                if look is None:
                    return await self._case(case), ""
                with look.around():
                    answered = await self._case(case, look)
                    await look.after_case()
                    return answered, ""
        except TargetRefused:
            case.recorder.refused = "by the target"
            return (), ""
        except BaseException as error:
            # Also SystemExit and a cancellation: out of here they would end the worker thread and the audit.
            if isinstance(error, UnicodeEncodeError) and not _encodable(case.scenario):
                case.recorder.refused = "a client could not encode the text (lone surrogate)"
                return (), ""
            case.recorder.said = self._said(case, error)
            if isinstance(error, IsolationKitError) and from_kit(error):
                return (), str(error)
            return (), f"the target raised {describe(error, self.ledger.pool)}"
        finally:
            self._tap.case = None

    def _said(self, case: Case, error: BaseException) -> str:
        """The text of what the target raised; what the kit raised of its own accord is its message."""
        if isinstance(error, IsolationKitError) and from_kit(error):
            if error.__cause__ is None:
                return ""
            error = error.__cause__
        return quoted(error, self.ledger, [item.token for item in case.recorder.planted])

    async def _case(self, case: Case, look: Aftermath | None = None) -> tuple[bool, ...]:
        if self.declaration.scope == "campaign":
            say = await self._keep(case)
            return await self._converse(case, say, look)
        stage = Stage(self._endpoint, self._run_id)
        stage.enter(case)
        try:
            async with opened(self.declaration, stage) as say:
                return await self._converse(case, say, look)
        finally:
            stage.close()

    async def _keep(self, case: Case) -> Say:
        if self._stage is None:
            self._stage = Stage(self._endpoint, self._run_id)
        self._stage.enter(case)
        if self._kept_say is None:
            self._kept = contextlib.AsyncExitStack()
            self._kept_say = await self._kept.enter_async_context(opened(self.declaration, self._stage))
        return self._kept_say

    async def _converse(self, case: Case, say: Say, look: Aftermath | None) -> tuple[bool, ...]:
        indices = range(len(case.scenario.turns))
        if case.scenario.schedule.gated:
            return await self._conducted(case, say)
        if case.scenario.concurrent:
            answered = tuple(await asyncio.gather(*(_turn(case, say, index) for index in indices)))
            if look is not None:
                await look.after_turn(indices[-1])
            return answered
        out = []
        for index in indices:
            out.append(await _turn(case, say, index))
            if look is not None:
                await look.after_turn(index)
        return tuple(out)

    async def _conducted(self, case: Case, say: Say) -> tuple[bool, ...]:
        conductor = Conductor(case.scenario, self._patience, case.recorder.off_schedule.append)
        case.conductor = conductor
        try:
            return await conductor.conduct(lambda index: _turn(case, say, index))
        finally:
            case.conductor = None
            if conductor.stalled:  # most likely this target serialises its turns: next time wait shorter
                self._patience = max(self._patience / 2, _LEAST_PATIENCE)

    def probe_log(self, scenario: Scenario) -> bool:
        """True if the log tap passes the stage's own line."""
        recorder = Recorder(self.ledger, scenario, scenario.base_digest())
        self._tap.case = Case(scenario, self.declaration, recorder)
        logging.getLogger("isolation_kit.probe").warning("probe")
        self._tap.case = None
        return any(event.channel is Channel.LOG for event in recorder.events)

    def close(self) -> None:
        """Tear a kept target down and stop the worker thread (an abandoned one is left behind)."""
        logging.getLogger().removeHandler(self._tap)
        self._dice.give_back()
        if self.abandoned:
            return
        if self._kept is not None:
            with contextlib.suppress(TargetTimeout):  # the verdicts stand; a late tear-down changes none
                self._run(_closed(self._kept))
        self._jobs.put(None)
        self._thread.join(self._timeout)


async def _closed(kept: contextlib.AsyncExitStack) -> None:
    with contextlib.suppress(Exception):  # nor does one that fails
        await kept.aclose()


def _encodable(scenario: Scenario) -> bool:
    """False if a text of the case holds a lone surrogate, or spells one that who reads its JSON gets."""
    try:
        for text in scenario.texts():
            text.encode()
            if _SURROGATE.search(text):
                return False
    except UnicodeEncodeError:
        return False
    return True


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()


async def _turn(case: Case, say: Say, index: int) -> bool:
    CURRENT_TURN.set(index)
    turn = case.begin(index)
    try:
        try:
            answer = await call(say, turn)
        except (SystemExit, KeyboardInterrupt) as error:
            # asyncio lets these two through to the event loop, which would stop.
            raise TargetError(f"the target raised {describe(error)}") from error
        if not isinstance(answer, str):
            raise TargetError(
                f"say() returned {type(answer).__name__}; it must return the reply as str, for example "
                "`return result.final_output`"
            )
        case.record(Channel.FINAL_OUTPUT, case.declaration.root, answer, turn=index)
        return bool(answer)
    finally:
        case.end(index)
        CURRENT_TURN.set(-1)
