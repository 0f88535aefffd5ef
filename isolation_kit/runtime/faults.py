"""Errors that foreign code raises: what may be told of them, and which of them are bugs in a program."""

from __future__ import annotations

__all__ = ["PROGRAM_ERRORS", "NoReplyError", "type_name"]

PROGRAM_ERRORS = (TypeError, AttributeError, NameError, ImportError)
"""A developer's slip: the same code meets it again, so waiting and trying again helps nobody."""

_LONGEST_NAME = 60


class NoReplyError(ValueError):
    """A model client returned what is no reply: no text, or arguments that are no JSON."""


def type_name(error: BaseException) -> str:
    """The name of the error's type, all that a log may hold of it."""
    # A type is made at run time like any value: what is no plain name could be somebody's text.
    name = type(error).__name__
    return name if len(name) <= _LONGEST_NAME and name.isascii() and name.isidentifier() else "unnamed"
