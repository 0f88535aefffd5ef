"""Runs cases against one target: one worker thread that owns the target's event loop, with a time limit."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import itertools
import logging
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from types import TracebackType
from typing import Any

from isolation_kit.errors import IsolationKitError, TargetError, TargetRefused, TargetTimeout, UsageError
from isolation_kit.scenario import Scenario
from isolation_kit.stage.case import CURRENT_TURN, Case
from isolation_kit.stage.guard import Guard
from isolation_kit.stage.recorder import Ledger, Recorder
from isolation_kit.stage.stage import LogTap, Stage
from isolation_kit.target import Declaration, Turn
from isolation_kit.trace import Channel, Trace

__all__ = ["Runner"]

Say = Callable[[Turn], Any]
_RUNS = itertools.count()


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
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="isolation-target", daemon=True)
        self._thread.start()
        logging.getLogger().addHandler(self._tap)

    def _serve(self) -> None:
        self._guard.watch()
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def execute(self, scenario: Scenario) -> Trace:
        """Run one case. Whatever the target does, a Trace comes back.

        Its `error` and `refused` tell of trouble.
        """
        recorder = Recorder(self.ledger, scenario, scenario.base_digest())
        if self.abandoned:
            return recorder.trace(error=self.abandoned)
        self.executions += 1
        fresh = f"c{self.executions:06d}-" if self.declaration.scope == "campaign" else ""
        case = Case(scenario, self.declaration, recorder, fresh)
        future = asyncio.run_coroutine_threadsafe(self._guarded(case), self._loop)
        answered, error = self._wait(future)
        return recorder.trace(answered, error, case.handovers())

    def _wait(self, future: Future[tuple[tuple[bool, ...], str]]) -> tuple[tuple[bool, ...], str]:
        try:
            return future.result(self._timeout)
        except FutureTimeout:
            future.cancel()
            self.abandoned = (
                f"the target was still running after {self._timeout:g} s; its thread was abandoned and no "
                "further case of this target is run in this process (raise case_timeout in isolation.toml, "
                "or make the target stop)"
            )
            return (), str(TargetTimeout(self.abandoned))

    async def _guarded(self, case: Case) -> tuple[tuple[bool, ...], str]:
        self._tap.case = case
        try:
            with self._guard.active(case.recorder.problems.append):
                return await self._case(case), ""
        except TargetRefused as refusal:
            case.recorder.refused = str(refusal) or "refused"
            return (), ""
        except UnicodeEncodeError:
            case.recorder.refused = "a client could not encode the text (lone surrogate)"
            return (), ""
        except IsolationKitError as error:
            return (), str(error)
        except BaseException as error:
            # Also SystemExit and a cancellation: out of here they would end the worker thread and the audit.
            return (), f"the target raised {_describe(error)}"
        finally:
            self._tap.case = None

    async def _case(self, case: Case) -> tuple[bool, ...]:
        if self.declaration.scope == "campaign":
            say = await self._keep(case)
            return await self._converse(case, say)
        stage = Stage(self._endpoint, self._run_id)
        stage.enter(case)
        try:
            async with _opened(self.declaration, stage) as say:
                return await self._converse(case, say)
        finally:
            stage.close()

    async def _keep(self, case: Case) -> Say:
        if self._stage is None:
            self._stage = Stage(self._endpoint, self._run_id)
        self._stage.enter(case)
        if self._kept_say is None:
            self._kept = contextlib.AsyncExitStack()
            self._kept_say = await self._kept.enter_async_context(_opened(self.declaration, self._stage))
        return self._kept_say

    async def _converse(self, case: Case, say: Say) -> tuple[bool, ...]:
        indices = range(len(case.scenario.turns))
        if case.scenario.concurrent:
            return tuple(await asyncio.gather(*(_turn(case, say, index) for index in indices)))
        return tuple([await _turn(case, say, index) for index in indices])

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
        if self.abandoned:
            return
        if self._kept is not None:
            future = asyncio.run_coroutine_threadsafe(self._kept.aclose(), self._loop)
            with contextlib.suppress(Exception):  # the verdicts stand; a failing tear-down cannot change them
                future.result(self._timeout)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(self._timeout)
        if not self._thread.is_alive():
            self._loop.close()


async def _turn(case: Case, say: Say, index: int) -> bool:
    CURRENT_TURN.set(index)
    turn = case.begin(index)
    try:
        try:
            answer = await _call(say, turn)
        except (SystemExit, KeyboardInterrupt) as error:
            # asyncio lets these two through to the event loop, which would stop.
            raise TargetError(f"the target raised {_describe(error)}") from None
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


async def _call(say: Say, turn: Turn) -> Any:
    if inspect.iscoroutinefunction(say):
        return await say(turn)
    answer = await _in_thread(say, turn)
    return await answer if inspect.isawaitable(answer) else answer


def _in_thread(say: Say, turn: Turn) -> asyncio.Future[Any]:
    """Run a sync `say` in a daemon thread of its own: one that hangs must not keep the interpreter alive."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(set_it: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            set_it(value)

    def work() -> None:
        try:
            outcome = (future.set_result, context.run(say, turn))
        except BaseException as error:
            outcome = (future.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=work, name="isolation-turn", daemon=True).start()
    return future


@contextlib.asynccontextmanager
async def _opened(declaration: Declaration, stage: Stage) -> AsyncIterator[Say]:
    """Open a target's generator, sync or async, and close it after the conversation."""
    factory = declaration.factory
    assert factory is not None
    try:
        if inspect.isasyncgenfunction(factory):
            async with contextlib.asynccontextmanager(factory)(stage) as say:
                yield _checked(say)
            return
        with contextlib.contextmanager(factory)(stage) as say:
            yield _checked(say)
    except RuntimeError as error:
        if _innermost(error).tb_frame.f_globals.get("__name__") != "contextlib":
            raise
        raise TargetError(
            "the target must yield exactly once; this one yielded never, or went on to a second yield: write "
            "`yield say` once, with the tear-down after it"
        ) from None


def _checked(say: Any) -> Say:
    if callable(say):
        checked: Say = say
        return checked
    raise TargetError(
        f"the target yielded {type(say).__name__}; it must yield its `say` function, for example `yield say`"
    )


def _describe(error: BaseException) -> str:
    """The type and the innermost place of an exception: never its text, which may hold a payload."""
    place = _innermost(error)
    return f"{type(error).__name__} in {place.tb_frame.f_code.co_name} (line {place.tb_lineno})"


def _innermost(error: BaseException) -> TracebackType:
    place = error.__traceback__
    assert place is not None  # it was caught
    while place.tb_next is not None:
        place = place.tb_next
    return place
