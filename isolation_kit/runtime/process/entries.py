"""Whether the entries that a host is given can be found, looked up before a child needs one of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from isolation_kit.errors import UsageError

__all__ = ["check_entries"]


def check_entries(entries: Mapping[str, str]) -> None:
    """Refuse entries that no child could load. Nothing is imported: only a child runs the user's code.

    Raises:
        UsageError: for what is no `module:function`, and for a module that `sys.path` does not lead to.
    """
    for agent, entry in entries.items():
        module, colon, function = entry.partition(":")
        if not all(part.isidentifier() for part in (*module.split("."), *function.split("."))) or not colon:
            raise UsageError(
                f"the entry of child {agent!r} is no module:function; name a function of a module, for "
                f"example ProcessHost(entries={{{agent!r}: 'my_app.children:run'}})"
            )
        if module == "__main__" or not _is_there(module):
            raise UsageError(
                f"the entry of child {agent!r} lies in module {module!r}, which a child cannot import; give "
                "one that sys.path leads to (install it, or start from its folder), no __main__, for example "
                f"ProcessHost(entries={{{agent!r}: 'my_app.children:run'}})"
            )


def _is_there(module: str) -> bool:
    """Asked of the finders, one part of the name after the other: `find_spec` would import the packages."""
    if module in sys.modules:
        return True
    path = None
    names = module.split(".")
    for last in range(len(names)):
        name = ".".join(names[: last + 1])
        finders = [finder for finder in sys.meta_path if hasattr(finder, "find_spec")]
        spec = next((found for finder in finders if (found := finder.find_spec(name, path))), None)
        if spec is None:
            return False
        path = spec.submodule_search_locations
        if path is None and last + 1 < len(names):
            return False
    return True
