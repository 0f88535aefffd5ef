"""Opens a target, calls its `say`, and describes what it raised without quoting it."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import sysconfig
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from isolation_kit.detect import Pool
from isolation_kit.errors import TargetError
from isolation_kit.stage.names import plain_name
from isolation_kit.stage.stage import Stage
from isolation_kit.target import Declaration, Turn

__all__ = ["Say", "call", "describe", "from_kit", "opened"]

Say = Callable[[Turn], Any]


async def call(say: Say, turn: Turn) -> Any:
    """What `say` answers; a sync one runs in a thread of its own."""
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
async def opened(declaration: Declaration, stage: Stage) -> AsyncIterator[Say]:
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


def describe(error: BaseException, pool: Pool | None = None) -> str:
    """The type and place of an exception: never its text, which may hold a payload.

    The place is the innermost one in the user's own code, where there is one. Names that the target chose are
    shown if they are plain words without a token of `pool`, where one is given.
    """
    places = list(_places(error))
    own = [place for place in places if not _foreign(place.tb_frame.f_code.co_filename)]
    place = (own or places)[-1]
    code = place.tb_frame.f_code
    kind, function, file = (
        plain_name(name, pool) for name in (type(error).__name__, code.co_name, Path(code.co_filename).name)
    )
    return f"{kind} in {function} ({file}, line {place.tb_lineno})"


def from_kit(error: BaseException) -> bool:
    """True if the kit itself raised it, so that its text is the kit's own."""
    return _innermost(error).tb_frame.f_code.co_filename.startswith(str(Path(__file__).parents[1]))


def _places(error: BaseException) -> Iterator[TracebackType]:
    place = error.__traceback__
    while place is not None:
        yield place
        place = place.tb_next


@cache
def _foreign(filename: str) -> bool:
    """True for the standard library, installed packages, and the kit's own stage."""
    roots = (
        *(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib")),
        str(Path(__file__).parent),
    )
    return filename.startswith(roots)


def _innermost(error: BaseException) -> TracebackType:
    *_, place = _places(error)  # it was caught, so there is one
    return place
