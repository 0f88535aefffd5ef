"""Plain-text tables and lines that keep to a width, and names cut so that they still tell rows apart."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence

__all__ = ["columns", "cut", "excess", "pad", "shortened", "width_of", "wrap"]

_LAST = 16


def columns(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    right: Iterable[int] = (),
    last: int = _LAST,
) -> list[str]:
    """A table whose last column gives way first, down to `last` columns, then the widest until it fits."""
    sizes = _sizes(head, rows)
    sizes[-1] -= min(max(0, _total(sizes) - width), max(0, sizes[-1] - last))
    while _total(sizes) > width and max(sizes) > 8:
        sizes[sizes.index(max(sizes))] -= 1
    ends = set(right)

    def line(cells: Sequence[str]) -> str:
        parts = [
            pad(_cut_cell(cell, size), size, at in ends)
            for at, (cell, size) in enumerate(zip(cells, sizes, strict=True))
        ]
        return cut("  ".join(parts), width)

    return [line(head), *map(line, rows)]


def excess(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> int:
    """By how many columns the uncut table is too wide."""
    return max(0, _total(_sizes(head, rows)) - width)


def _sizes(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(width_of(line[at]) for line in (head, *rows)) for at in range(len(head))]


def _total(sizes: Sequence[int]) -> int:
    return sum(sizes) + 2 * (len(sizes) - 1)


def shortened(names: Iterable[str], size: int) -> dict[str, str]:
    """Each name in at most `size` columns; where their heads are alike, the tails are kept instead."""
    every = list(dict.fromkeys(names))
    heads = {name: cut(name, size) for name in every}
    if len(set(heads.values())) == len(every):
        return heads
    tails = {name: name if width_of(name) <= size else ".." + _tail(name, size - 2) for name in every}
    return tails if len(set(tails.values())) == len(every) else heads


def width_of(text: str) -> int:
    """Columns on a terminal: East Asian wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, width: int) -> str:
    """`text` in at most `width` columns; what was cut ends with two dots."""
    if width_of(text) <= width:
        return text
    return _head(text, width - 2).rstrip() + ".."


def _head(text: str, width: int) -> str:
    used = 0
    for at, char in enumerate(text):
        used += _char_width(char)
        if used > width:
            return text[:at]
    return text


def _tail(text: str, width: int) -> str:
    return _head(text[::-1], width)[::-1]


def _cut_cell(text: str, width: int) -> str:
    """A cell that ends with a count, `name +3`, keeps the count."""
    name, plus, count = text.rpartition(" +")
    room = width - len(count) - 2
    if plus and count.isdigit() and width_of(text) > width and room > 4:
        return f"{cut(name, room)} +{count}"
    return cut(text, width)


def pad(text: str, width: int, right: bool = False) -> str:
    """`text` filled with spaces up to `width` columns."""
    space = " " * max(0, width - width_of(text))
    return space + text if right else text + space


def wrap(text: str, width: int, hang: int = 0) -> list[str]:
    """Lines of at most `width` columns; a text without spaces is cut hard."""
    if width_of(text) == len(text):
        return textwrap.wrap(text, width, subsequent_indent=" " * hang, break_on_hyphens=False) or [""]
    return [
        cut(line, width)
        for line in textwrap.wrap(text, width // 2 if _is_wide(text) else width, subsequent_indent=" " * hang)
    ]


def _is_wide(text: str) -> bool:
    return width_of(text) > 1.5 * len(text)
