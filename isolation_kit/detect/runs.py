"""Find the long runs of characters that encodings are written in, within lines and across them."""

from __future__ import annotations

from isolation_kit.detect.needles import BASE85
from isolation_kit.detect.sieve import MIN_RUN

__all__ = ["ENCODED", "long_runs", "runs_in"]

_RUN = b"a" * MIN_RUN
_LETTERS = BASE85["b85"] + b"/"
ENCODED = bytes(97 if byte in _LETTERS else 10 if byte in b"\r\n" else 32 for byte in range(256))
"""A table of marks: `a` for every character of an encoding, line breaks, a blank for the rest: a long run is
then found as a literal."""


def long_runs(text: bytes, least: int = MIN_RUN) -> list[tuple[int, bytes]]:
    """The runs of at least `least` encoding characters and about where, within and across lines."""
    run = _RUN if least == MIN_RUN else b"a" * least
    marks = text.translate(ENCODED)
    out: list[tuple[int, bytes]] = []
    # A wrapped blob is one run again without its line breaks. So are two words that met at a line's end,
    # hence the second pass, line by line.
    if b"a\na" in marks or b"a\n\na" in marks or b"\n\n\n" in marks:
        joined = marks.translate(None, b"\n")
        if run not in joined:
            return out
        out = runs_in(text.translate(None, b"\r\n"), joined, run)
    return out + runs_in(text, marks.replace(b"\n", b" "), run) if run in marks else out


def runs_in(text: bytes, marks: bytes, run: bytes) -> list[tuple[int, bytes]]:
    """The parts of `text`, with their starts, whose `marks` begin with `run` and go on to the next blank."""
    out = []
    marks += b" "  # so that every run has an end
    find, size = marks.find, len(run)
    start = find(run)
    while start >= 0:
        end = marks.index(b" ", start + size)
        out.append((start, text[start:end]))
        start = find(run, end)
    return out
