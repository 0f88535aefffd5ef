"""Which objects of this process hold a text with one of the given tokens, and what keeps them alive.

`freeze` sets aside all objects that exist; what the collector still lists later was made since. So a look
costs as much as the case, not as the process. A text that was put straight into an older container is found
from the namespaces of the modules instead. What the kit holds by right (the running case, its recorder, the
canaries) does not count.
"""

from __future__ import annotations

import gc
import sys
import sysconfig
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from logging import LogRecord
from types import BuiltinFunctionType, CellType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

__all__ = ["freeze", "held_in_modules", "held_since", "path_to", "thaw"]

_DEPTH = 6  # below a module's names
_NODES = 20_000
_HOLDERS = (
    "collections",
    "functools",
    "types",
    "_thread",
    "_contextvars",
    "weakref",
)  # that hold others' things
_STEPS = 5  # of a path: each is a walk over all objects
_WIDTH = 64  # owners followed on each step of a path
_PLAIN = (dict, list, tuple, set, frozenset, deque)
_UNDER_TEST = tuple(f"isolation_kit.{name}" for name in ("runtime", "targets", "mutants"))
_STOPS = (type, ModuleType, FunctionType, BuiltinFunctionType, CellType, CodeType, FrameType)
_TEXTS = (str, bytes, bytearray)
_CACHES = type(cache(len))


def freeze() -> None:
    """Set all objects that exist aside: from now on the collector lists only what is made."""
    gc.freeze()


def thaw() -> None:
    """Undo `freeze`."""
    gc.unfreeze()


def held_since(
    tokens_of: Callable[[Any], tuple[str, ...]], kit: Iterable[object]
) -> list[tuple[object, tuple[str, ...]]]:
    """Every living object made since `freeze` that holds a token, with the tokens.

    Args:
        tokens_of: the tokens in a text or in bytes.
        kit: objects of the kit; what they hold, they hold by right.
    """
    gc.collect()
    new = gc.get_objects()
    own = _owned_by(kit, {id(item) for item in new})
    own |= {id(new), id(own)}
    out = []
    for item in new:
        if id(item) in own or isinstance(item, FrameType) or _is_of_kit(item):
            continue
        found = tuple(token for text in _texts(item) for token in tokens_of(text))
        if found:
            out.append((item, found))
    return out


def _texts(item: object, depth: int = 3) -> Iterator[Any]:
    """The texts that an object holds itself, or by tuples and dicts that the collector does not list."""
    for part in gc.get_referents(item):
        kind = type(part)
        if kind in _TEXTS:
            yield part
        elif depth and (kind is tuple or kind is dict) and not gc.is_tracked(part):
            yield from _texts(part, depth - 1)


def _is_of_kit(item: object) -> bool:
    if isinstance(item, LogRecord):
        return True  # a handler's, and what a log may hold is judged at the log
    if isinstance(item, _CACHES):
        # Of the module whose function it remembers: `re` keeps the patterns by which the kit masks tokens.
        return not _in_project(str(item.__module__))
    return _judges(type(item).__module__) and type(item).__name__ not in ("ModelCall", "ModelReply")


def _judges(name: str) -> bool:
    """True for the modules of the kit that judge, and are not judged."""
    return name.startswith("isolation_kit.") and not name.startswith(_UNDER_TEST)


def _owned_by(roots: Iterable[object], new: set[int]) -> set[int]:
    """The new objects that `roots` hold, themselves or by plain containers and by what the kit defines."""
    seen: set[int] = set()
    todo = [(root, 0) for root in roots]
    while todo:
        item, depth = todo.pop()
        if id(item) in seen or isinstance(item, _STOPS):
            continue
        seen.add(id(item))
        for part in gc.get_referents(item):
            kind = type(part)
            if id(part) in seen or (id(part) not in new and depth > 1):
                continue
            if kind in _PLAIN or kind is MethodType or issubclass(kind, tuple) or _is_of_kit(part):
                todo.append((part, depth + 1))
    return seen


# -- older containers ----------------------------------------------------------------------------------------


def held_in_modules(tokens_of: Callable[[Any], tuple[str, ...]]) -> list[tuple[object, tuple[str, ...]]]:
    """Containers that the modules of the system under test hold, with the tokens that lie in them.

    The standard library's, installed packages' and the kit's own judging parts are left out.
    """
    spaces = {id(module.__dict__) for module in list(sys.modules.values()) if isinstance(module, ModuleType)}
    seen = set(spaces)
    todo: list[tuple[object, int]] = [
        (module.__dict__, 0) for name, module in list(sys.modules.items()) if _under_test(name, module)
    ]
    out: list[tuple[object, tuple[str, ...]]] = []
    left = _NODES
    while todo and left:
        item, depth = todo.pop()
        left -= 1
        found: list[str] = []
        for part in _parts(item):
            if type(part) in _TEXTS:
                found += tokens_of(part)
            elif depth < _DEPTH and id(part) not in seen and _worth_a_look(part):
                seen.add(id(part))
                todo.append((part, depth + 1))
        if found:
            out.append((item, tuple(found)))
    return out


def _parts(item: object) -> Iterable[object]:
    """What may have been put into a module, a class, a function or another object after it was made."""
    if isinstance(item, ModuleType | type):
        return [part for name, part in list(vars(item).items()) if not name.startswith("__")]
    return gc.get_referents(item)


def _worth_a_look(part: object) -> bool:
    kind = type(part)
    if kind in _PLAIN or kind is CellType:
        return True
    if isinstance(part, (type, FunctionType, _CACHES)):
        return _in_project(str(part.__module__))  # what a module imports from elsewhere is not its own
    if kind.__module__ in _HOLDERS:
        return True
    return _in_project(kind.__module__) and not _is_of_kit(part)


@cache
def _in_project(name: str) -> bool:
    return _under_test(name, sys.modules.get(name))


def _under_test(name: str, module: object) -> bool:
    """True for modules of the system under test, the reference runtime and its defects among them."""
    if not isinstance(module, ModuleType) or _judges(name):
        return False
    if name.startswith(_UNDER_TEST):
        return True
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and not file.startswith(_installed())


@cache
def _installed() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple({paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")})


# -- what keeps it alive -------------------------------------------------------------------------------------


def path_to(item: object, skip: Iterable[object] = ()) -> tuple[str, ...]:
    """Type names from a root (a module, a class, a frame, a coroutine) down to `item`, as far as they go.

    A module or a class stands with the name under which it holds the next one, as it can be searched for.
    Call it after `thaw`: what is set aside is not listed as a referrer.
    """
    spaces = {
        id(module.__dict__): str(module.__name__)
        for module in list(sys.modules.values())
        if isinstance(module, ModuleType)
    }
    before: dict[int, int] = {}
    names = {id(item): type(item).__name__}
    level = [item]
    passed = {id(before), id(names), id(spaces), id(level), *map(id, skip)}
    for _ in range(_STEPS):
        parts = {id(part) for part in level}
        above: list[object] = []
        roots: list[tuple[str, ...]] = []
        passed |= {id(level), id(above), id(roots)}
        for owner in gc.get_referrers(*level):
            if id(owner) in passed or id(owner) in names or isinstance(owner, FrameType):
                continue
            held = next((id(part) for part in gc.get_referents(owner) if id(part) in parts), None)
            if held is None or len(above) >= _WIDTH:
                continue
            # A class holds its variables by a dict that nobody else sees.
            before[id(owner)] = held = before.get(held, held) if isinstance(owner, type) else held
            names[id(owner)] = _name(owner, held, spaces.get(id(owner), ""))
            if id(owner) in spaces or isinstance(owner, (ModuleType, type)):
                roots.append(_down(id(owner), before, names))
            above.append(owner)
        if roots:
            return min(roots)  # of several, always the same one
        if not above:
            break
        level = sorted(above, key=lambda owner: names[id(owner)])
    return _down(id(level[0]), before, names)


def _name(owner: object, held: int, module: str) -> str:
    """The name of a module's or class's variable that holds the object with the id `held`; else a type's."""
    space = owner
    if isinstance(owner, type):
        module, space = f"{owner.__module__}.{owner.__qualname__}".replace(".<locals>", ""), vars(owner)
    if not module or not isinstance(space, Mapping):
        return type(owner).__name__
    variables = [name for name, value in list(space.items()) if id(value) == held and isinstance(name, str)]
    return ".".join([module, *sorted(variables)[:1]])


def _down(start: int, before: dict[int, int], names: dict[int, str]) -> tuple[str, ...]:
    path, at = [names[start]], start
    while at in before and len(path) < _STEPS + 1:
        at = before[at]
        path.append(names[at])
    return tuple(path)
