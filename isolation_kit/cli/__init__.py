"""The command line: `isolation-kit init | demo | run | serve | load | report | compare | merge | matrix ...`.

Exit codes: 0 pass, 1 leak or loss, 2 usage or configuration, 3 error of kit or target, 4 inconclusive.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from isolation_kit.cli.parser import parser
from isolation_kit.config import place_of
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
        return _say(f"isolation-kit: interrupted{_kept(words)}", _INTERRUPTED)
    except BrokenPipeError:  # the reader of our output is gone, for example `| head`
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (closed by the interpreter at its end)
        return _ERROR
    except SystemExit as end:  # argparse: --help is 0, a wrong option 2
        return end.code if isinstance(end.code, int) else _USAGE
    except Exception as error:
        return _say(
            f"isolation-kit: a fault of the kit, {place_of(error)}; please report it{_kept(words)}", _ERROR
        )
    return code


def _kept(words: Sequence[str]) -> str:
    """How to see what was found up to then: findings are written as they are made, reports at the end."""
    if words[:1] != ["run"]:  # `load` takes interrupts itself once its run has begun
        return ""
    return "; isolation-kit report .isolation/report.json --recover reports what was found up to then"


def _say(text: str, code: int) -> int:
    print(text, file=sys.stderr)
    return code
