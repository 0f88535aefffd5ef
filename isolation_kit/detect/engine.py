"""The searches in raw bytes that every scan is made of: SIMD with the extra `fast`, else Python's own.

Both give the same for all that is asked here: a literal of at least one byte, a start of zero or more.
"""

from __future__ import annotations

from collections.abc import Callable

try:
    import stringzilla
except ImportError:  # the extra is not installed
    stringzilla = None

__all__ = ["FAST", "count", "find", "translate"]

FAST: bool = stringzilla is not None
"""Whether the extra is there."""

find: Callable[..., int] = bytes.find if stringzilla is None else stringzilla.find
"""The first place of a literal in some bytes, from a start on, or -1."""

count: Callable[[bytes, bytes], int] = bytes.count if stringzilla is None else stringzilla.count
"""How often a literal is in some bytes, without overlaps."""

translate: Callable[[bytes, bytes], bytes] = bytes.translate if stringzilla is None else stringzilla.translate
"""Some bytes with each replaced by its entry in a table of 256."""
