"""One refusal for documents that match the schema and still contradict themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from isolation_kit.errors import UsageError

__all__ = ["broken_is_refused"]

_SIGNS = (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError)


@contextmanager
def broken_is_refused(name: object = "") -> Iterator[None]:
    """Turn what a self-contradicting document raises into a refusal; never the value that is wrong.

    Args:
        name: of the report, for the message.

    Raises:
        UsageError: if the document that is read or shown inside is inconsistent.
    """
    try:
        yield
    except _SIGNS as error:
        which = f" ({name})" if name else ""
        raise UsageError(
            f"this report was changed or is broken{which}: its parts contradict each other "
            f"({type(error).__name__}); allowed: a report.json as it was written, for example "
            ".isolation/report.json; run the audit again to write it"
        ) from None
