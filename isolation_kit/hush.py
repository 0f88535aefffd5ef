"""Keeps what a target says out of the kit's output: it may hold a token, a secret or an escape code."""

from __future__ import annotations

import builtins
import contextlib
import gc
import io
import json
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from os import chdir, getcwd, getpid
from typing import Any, NoReturn, TextIO

__all__ = ["hushed", "unpatched"]


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Run or import target code: it is heard by the stage's taps alone, and cannot end the process.

    Swallows standard output and error, warnings, exceptions of threads and of finalisers, and log lines that
    pytest would store. `os._exit` becomes a SystemExit, except in forked children. All of it is put back.
    """
    with contextlib.ExitStack() as stack:
        stack.callback(_return_to, _folder())
        stop = _debugger(sys.breakpointhook, sys.stdin, sys.stdout)
        stack.enter_context(_replaced(sys, "breakpointhook", stop))
        for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
            stack.enter_context(_replaced(sys, name, _silent(getattr(sys, name))))
        stack.enter_context(_replaced(threading, "excepthook", _nothing))
        stack.enter_context(_replaced(sys, "unraisablehook", _nothing))
        stack.enter_context(_replaced(os, "_exit", _no_exit(os._exit)))
        stack.enter_context(_no_warnings())
        stack.enter_context(_unseen_logs())
        # What a finaliser raises must be raised here, not when pytest or the interpreter collects it.
        stack.callback(gc.collect)
        yield


@contextlib.contextmanager
def unpatched() -> Iterator[None]:
    """Run target code: what it patches of the functions that reports are written with is put back."""
    with contextlib.ExitStack() as stack:
        for owner, names in (
            (json, ("dumps", "loads")),
            (json.JSONEncoder, ("encode", "iterencode", "default")),
            (json.JSONDecoder, ("decode", "raw_decode")),
            (os, ("open", "write", "replace", "getpid", "getcwd", "stat", "mkdir")),
            (builtins, ("open", "print")),
        ):
            for name in names:
                stack.enter_context(_replaced(owner, name, getattr(owner, name)))
        yield


class _Void(io.RawIOBase):
    """Takes everything; stands on the file descriptor of the stream that it replaces."""

    def __init__(self, replaced: TextIO | None) -> None:
        super().__init__()
        self._replaced = replaced

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, data: Any) -> int:
        """Forget `data`."""
        return memoryview(data).nbytes

    def fileno(self) -> int:
        """The descriptor of the replaced stream: some programs ask for it and write nothing.

        Raises:
            OSError: if it has none.
        """
        if self._replaced is None:
            raise io.UnsupportedOperation("fileno")
        return self._replaced.fileno()


def _silent(replaced: TextIO | None) -> TextIO:
    # Never closed by us: a log handler that was made meanwhile keeps it.
    return io.TextIOWrapper(
        _Void(replaced),  # type: ignore[type-var]  # (a raw stream does, there is nothing to buffer)
        encoding="utf-8",
        errors="backslashreplace",
        write_through=True,
    )


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: object) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _debugger(real: Callable[..., Any], source: TextIO, out: TextIO) -> Callable[..., Any]:
    """A `breakpoint()` that a person at a terminal can answer; any other debugger is left as it is."""
    chosen = real is not sys.__breakpointhook__ or os.environ.get("PYTHONBREAKPOINT")
    if chosen or not all(stream is not None and stream.isatty() for stream in (source, out)):
        return real

    def stop(*_: object, **__: object) -> None:
        from pdb import Pdb

        Pdb(stdin=source, stdout=out).set_trace(sys._getframe().f_back)

    return stop


def _nothing(*_: object, **__: object) -> None:
    """Swallow it."""


def _no_exit(real: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
    """An `os._exit` that cannot end the kit's process with a code of the target's choice."""
    own = getpid()

    def leave(status: int) -> NoReturn:
        if getpid() != own:
            real(status)
        raise SystemExit(status)

    return leave


@contextlib.contextmanager
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The target may set filters of its own; then nothing shows what passes them.
        warnings.showwarning = _nothing
        yield


@contextlib.contextmanager
def _unseen_logs() -> Iterator[None]:
    """Take pytest's handlers away from the root logger; the stage's tap stays."""
    root = logging.getLogger()
    shown_by_pytest = [h for h in root.handlers if type(h).__module__.startswith("_pytest.")]
    for handler in shown_by_pytest:
        root.removeHandler(handler)
    try:
        yield
    finally:
        for handler in shown_by_pytest:
            root.addHandler(handler)


def _folder() -> str:
    try:
        return getcwd()
    except OSError:
        return ""


def _return_to(folder: str) -> None:
    """Leave a working folder that the target deleted; any other is the target's own affair."""
    if folder and not _folder():
        with contextlib.suppress(OSError):
            chdir(folder)
