"""The one exception tree of the kit.

    IsolationKitError
    ├── UsageError           wrong option, configuration or API call (CLI exit 2, pytest exit 4)
    │   ├── ConfigError      isolation.toml is missing, broken or names what does not exist
    │   └── ContentError     a file in attacks/, fingerprints/ or reports/ is broken
    ├── StrictJSONError      bytes that a strict JSON reader refuses
    ├── TargetError          the system under test raised, hung or answered garbage
    │   ├── TargetTimeout    it was still running when its time was up
    │   └── TargetRefused    it refused a hostile input cleanly (counted, no failure)
    └── KitError             a fault of the kit itself

Messages say what was given, what is allowed, an example and what to do next. They never hold a token, a
payload or a value that came from the system under test.
"""

from __future__ import annotations

__all__ = [
    "ConfigError",
    "ContentError",
    "IsolationKitError",
    "KitError",
    "StrictJSONError",
    "TargetError",
    "TargetRefused",
    "TargetTimeout",
    "UsageError",
]


class IsolationKitError(Exception):
    """Base of every exception that the kit raises on purpose."""


class UsageError(IsolationKitError):
    """A wrong option, configuration or API call; the message says the way out."""


class ConfigError(UsageError):
    """`isolation.toml` is missing, broken or names something that does not exist."""


class ContentError(UsageError):
    """A content file in attacks/, fingerprints/ or reports/ is missing or broken."""


class StrictJSONError(IsolationKitError, ValueError):
    """Bytes that a strict JSON reader refuses; the message names the rule, never the value."""


class TargetError(IsolationKitError):
    """The system under test raised or answered garbage; names types and places, never values."""


class TargetTimeout(TargetError):
    """The system under test was still running when its time limit was reached."""


class TargetRefused(TargetError):
    """The system under test refused a hostile input cleanly."""


class KitError(IsolationKitError):
    """A fault of the kit itself."""
