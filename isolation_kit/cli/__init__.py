"""The command line: `isolation-kit init | demo | run | report | compare | merge | replay | catalogue check`.

Exit codes: 0 pass, 1 leak or loss, 2 usage or configuration, 3 error of kit or target, 4 inconclusive.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from isolation_kit.cli.parser import parser
from isolation_kit.errors import IsolationKitError, UsageError

__all__ = ["main"]

_USAGE, _ERROR, _INTERRUPTED = 2, 3, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        arguments = parser().parse_args(words)
        code: int = arguments.command(arguments, ("isolation-kit", *words))
    except UsageError as error:
        return _say(f"isolation-kit: {error}", _USAGE)
    except IsolationKitError as error:
        return _say(f"isolation-kit: {error}", _ERROR)
    except KeyboardInterrupt:
        return _say("isolation-kit: interrupted before anything was found", _INTERRUPTED)
    except SystemExit as end:  # argparse: --help is 0, a wrong option 2
        return end.code if isinstance(end.code, int) else _USAGE
    except Exception as error:
        # The text of a foreign exception may hold a payload; its type and place do not.
        return _say(f"isolation-kit: a fault of the kit: {_place(error)}; please report it", _ERROR)
    return code


def _say(text: str, code: int) -> int:
    print(text, file=sys.stderr)
    return code


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None
    frame = trace.tb_frame
    module = frame.f_globals.get("__name__", "?")
    return f"{type(error).__name__} in {module}.{frame.f_code.co_name}, line {trace.tb_lineno}"
