"""Locust's side: its listeners are registered when this is imported, as Locust wants it.

The master, which has no users, must hear the workers' counters too; so users come from here, not from `user`.
"""

from __future__ import annotations

from typing import Any

from isolation_kit.load.events import begin, options
from isolation_kit.load.locusts import events
from isolation_kit.load.service_user import ServiceUser
from isolation_kit.load.shape import IsolationRamp
from isolation_kit.load.user import IsolationUser

__all__ = ["IsolationRamp", "IsolationUser", "ServiceUser"]

_hooks: Any = events  # without types of its own
_hooks.init_command_line_parser.add_listener(options)
_hooks.init.add_listener(begin)
