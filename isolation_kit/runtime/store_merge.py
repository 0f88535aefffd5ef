"""How an edit of an earlier step meets what others wrote since (article 000, section 2.2: by version number).

The rule, field by field of the top level: who changed a field since the version that both started from has it
his way; if both changed it, both must have changed it alike. Otherwise the edit is refused, and the newest
version stands: an older value never wins silently. Values that are no objects count as one field.
"""

from __future__ import annotations

from typing import Any

from isolation_kit.errors import StrictJSONError
from isolation_kit.runtime.store import encoded
from isolation_kit.runtime.store_errors import StaleEditError, StepMissingError, StoreCorruptError
from isolation_kit.runtime.text import canonical
from isolation_kit.strictjson import loads

__all__ = ["merged"]


def merged(versions: tuple[bytes, ...], version: int, edited: bytes) -> bytes:
    """The value that follows `versions`, given an edit of one of them.

    Args:
        versions: all values of the step as canonical JSON, version 1 first.
        version: the number of the version that was edited.

    Raises:
        StaleEditError: if a newer version changed the same fields in another way.
        StepMissingError: if there is no such version.
        StoreCorruptError: if one of the versions is no JSON.
    """
    if type(version) is not int or not 0 < version <= len(versions):
        raise StepMissingError(
            f"there is no such version of this step; it has {len(versions)}, numbered from 1 (0: it was "
            "never written, or has expired). Read it with versions() and edit the last one"
        )
    base, newest = versions[version - 1], versions[-1]
    if edited in (base, newest) or newest == base:
        return newest if edited == base else edited
    try:
        stored = loads(base), loads(newest)
    except StrictJSONError:
        raise StoreCorruptError("a stored value is damaged; move the store's file away") from None
    return _by_field(*stored, loads(edited), version, len(versions))


def _by_field(base: object, newest: object, edited: object, version: int, last: int) -> bytes:
    if not (isinstance(base, dict) and isinstance(newest, dict) and isinstance(edited, dict)):
        raise _stale(version, last, 1)
    out: dict[str, Any] = dict(newest)
    clashes = 0
    for name in base.keys() | edited.keys():
        before, theirs, ours = (_form(value, name) for value in (base, newest, edited))
        if ours in (before, theirs):
            continue
        if theirs != before:
            clashes += 1
        elif name in edited:
            out[name] = edited[name]
        else:
            del out[name]
    if clashes:
        raise _stale(version, last, clashes)
    return encoded(out)


def _form(value: dict[str, Any], name: str) -> str | None:
    # As text: in Python 1 == 1.0 == True, and as JSON they differ. None stands for "not there".
    return canonical(value[name]) if name in value else None


def _stale(version: int, last: int, clashes: int) -> StaleEditError:
    return StaleEditError(
        f"an edit of version {version} meets version {last}, in which {clashes} of the edited fields have "
        "changed in another way; the newest version stands. Read it with versions() and edit that one"
    )
