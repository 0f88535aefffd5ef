"""The locustfile that `isolation-kit load` runs against `isolation-kit serve`."""

from __future__ import annotations

from isolation_kit.load import ServiceUser

__all__ = ["LoadedUser"]


class LoadedUser(ServiceUser):
    """A user of the reference service."""
