"""The searches in raw bytes that every scan is made of: by SIMD where the extra `fast` is there, else Python's.

Both give the same for all that is asked here: a literal of at least one byte, a start of zero or more.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["FAST", "count", "find", "translate"]

find: Callable[..., int]
"""The first place of a literal in some bytes, from a start on, or -1."""
count: Callable[[bytes, bytes], int]
"""How often a literal is in some bytes, without overlaps."""
translate: Callable[[bytes, bytes], bytes]
"""Some bytes with each replaced by its entry in a table of 256."""

try:
    from stringzilla import count, find, translate

    FAST = True
except ImportError:
    count, find, translate = bytes.count, bytes.find, bytes.translate
    FAST = False
