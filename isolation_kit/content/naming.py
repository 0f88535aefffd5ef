"""Which pollutant class a field name or a slot belongs to."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote

from isolation_kit.content.model import FingerprintClass

__all__ = ["class_of_slot", "classify", "names_a_person", "normalise_field"]

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[\s._\-]+")
_LONGEST_FIELD = 256  # characters; a target chooses its keys, and no known name is longer
_PERSON = re.compile(r"(?:.*_)?(?:user|tenant|customer|owner|member|session)_?(?:ids?|key|name|uuid)?\Z")
_INDEX = re.compile(r"\[[^\]]*\]")


@lru_cache(maxsize=4096)
def normalise_field(field: str) -> str:
    """Fold a field name to one spelling: `X-Trace-Id`, `xTraceId` and `%78-trace-id` become `x_trace_id`."""
    plain = unicodedata.normalize("NFKC", unquote(field[:_LONGEST_FIELD]))
    return _SEPARATORS.sub("_", _HUMP.sub("_", plain)).strip("_").casefold()


def names_a_person(parameter: str) -> bool:
    """True for `user_id`, `tenant`, `ownerKey` and the like: a parameter that says whose data is meant."""
    return _PERSON.match(normalise_field(parameter)) is not None


def classify(field: str, classes: Iterable[FingerprintClass]) -> FingerprintClass | None:
    """The class that knows `field` by name: the whole of it first, then the last step of a dotted path."""
    plain = _INDEX.sub("", field)
    for name in dict.fromkeys((normalise_field(plain), normalise_field(plain.rpartition(".")[2]))):
        for entry in classes:
            if name and any(name == normalise_field(known) for known in entry.names):
                return entry
    return None


def class_of_slot(slot: str, classes: Iterable[FingerprintClass]) -> FingerprintClass | None:
    """The class that tokens of `slot` belong to, or None (for instance for a user's own `x.` slot)."""
    return next((entry for entry in classes if slot in entry.slots), None)
