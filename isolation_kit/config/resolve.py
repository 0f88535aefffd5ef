"""From `module:function` in a file to the declared target: the only place that imports a user's module."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from isolation_kit.config.rules import close_to
from isolation_kit.errors import ConfigError, UsageError
from isolation_kit.hush import hushed
from isolation_kit.target import Declaration, declaration_of

__all__ = ["place_of", "resolve"]


def resolve(factory: str, root: Path) -> Declaration:
    """Import the factory with `root` on the module path, and return what `@target` declared on it.

    Args:
        factory: `module:function`.

    Raises:
        ConfigError: if there is no such module or function, the import fails, or it is no target.
    """
    name, _, attribute = factory.partition(":")
    if not name or not attribute:
        raise ConfigError(
            f"factory = {factory[:80]!r} is no factory; allowed: module:function, for example "
            "'my_app.isolation:support_team'"
        )
    module = _module(name, factory, root)
    public = [key for key in vars(module) if not key.startswith("_")]
    if not hasattr(module, attribute):  # a module may make its targets on demand
        raise ConfigError(
            f"factory = {factory!r}: the module {name} has no {attribute!r}{close_to(attribute, public)}; "
            "correct the name behind the colon, or write that function and decorate it with "
            "@isolation_kit.target(root=..., agents={...})"
        )
    try:
        return declaration_of(getattr(module, attribute))
    except UsageError as error:
        raise ConfigError(f"factory = {factory!r}: {error}") from None


def _module(name: str, factory: str, root: Path) -> ModuleType:
    if str(root) not in sys.path:
        # It stays there: a target may import more of its project while it runs.
        sys.path.insert(0, str(root))
    try:
        with hushed():
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise ConfigError(
                f"factory = {factory!r}: there is no module {missing!r} in {root} nor among the installed "
                "packages; correct the name before the colon, or install the package that has it"
            ) from None
        raise ConfigError(
            f"factory = {factory!r}: the module {name} needs {missing!r}, which is not installed; install it "
            f"in this environment, for example: pip install {missing.partition('.')[0]}"
        ) from None
    except SyntaxError as error:
        place = f"{Path(error.filename or name).name}, line {error.lineno}"
        reason = f"a syntax error ({place})"
    except KeyboardInterrupt:
        raise
    except UsageError as error:
        # What `@target` refuses says the way out itself; a program that raises the same is not quoted.
        if _innermost(error).startswith(str(Path(__file__).parents[1])):
            raise ConfigError(f"factory = {factory!r}: {error}") from None
        reason = place_of(error)
    except BaseException as error:
        # A program's own message may hold anything, so the place is named and the text is not.
        reason = place_of(error)
    raise ConfigError(
        f"factory = {factory!r}: importing {name} failed with {reason}; make "
        f"'python -c \"import {name}\"' work in {root} first"
    )


def _innermost(error: BaseException) -> str:
    trace, name = error.__traceback__, ""
    while trace is not None:
        name, trace = trace.tb_frame.f_code.co_filename, trace.tb_next
    return name


def place_of(error: BaseException) -> str:
    """`RuntimeError at my_app.py, line 3`: an exception without its text, which may hold anything."""
    name, trace = type(error).__name__, error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return name
    return f"{name} at {Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
