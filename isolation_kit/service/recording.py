"""The recording side channel: what each child saw, in batches, to one listener that knows the token.

Off unless somebody makes one. What nobody fetches is bounded: beyond it, the oldest views are dropped;
views are numbered, and each batch announces how many there are, so that the listener knows what it did not
see, also when this process is killed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from hmac import compare_digest
from json import dumps
from secrets import token_hex
from typing import Any
from weakref import WeakKeyDictionary

from isolation_kit.runtime import Message, ModelRequest, NoHooks
from isolation_kit.runtime.text import canonical
from isolation_kit.service.script import ASKED, Asked

__all__ = ["Recording", "ViewHooks"]

_BUFFER = 32 << 20  # bytes of views that wait for their listener
_BATCH = 512 << 10  # bytes
_PAUSE = 0.05  # seconds between two batches


class Recording:
    """The buffer between the children and the one listener.

    Args:
        token: what the listener must show.
    """

    def __init__(self, token: str, limit: int = _BUFFER) -> None:
        self._token = token.encode()
        self._limit = limit
        self._views: deque[bytes] = deque()
        self._size = 0
        self._first = 0  # the running number of the oldest view that waits
        self._boot = token_hex(8).encode()  # numbers of another start are others
        self.listening = False

    def __repr__(self) -> str:
        return f"Recording({len(self._views)} views)"

    def opens_for(self, token: str) -> bool:
        """True for the right token; takes as long for any wrong one."""
        return compare_digest(token.encode("utf-8", "surrogatepass"), self._token)

    def keep(self, view: dict[str, Any]) -> None:
        """Keep one view for the listener."""
        line = dumps(view, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._views.append(line)
        self._size += len(line)
        while self._size > self._limit:
            self._size -= len(self._views.popleft())
            self._first += 1

    def batch(self, *, empty: bool = False) -> bytes:
        """The next batch as a line of JSON; b"" for none.

        `{"boot": which start, "next": how many were made, "from": number of the first, "views": [...]}`.
        Numbers run on over all batches of a start, so a listener sees what was dropped, and what still waits.
        """
        if not self._views and not empty:
            return b""
        taken, size = [], 0
        while self._views and size < _BATCH:
            taken.append(self._views.popleft())
            size += len(taken[-1])
        self._size -= size
        first = self._first
        self._first += len(taken)
        following = self._first + len(self._views)
        head = b'{"boot":"%s","next":%d,"from":%d' % (self._boot, following, first)
        return b'%s,"views":[%s]}\n' % (head, b",".join(taken))

    async def stream(self, going_on: Callable[[], bool] = lambda: True) -> AsyncIterator[bytes]:
        """Batches for the one listener, until it goes away or `going_on` says no; then what is left."""
        self.listening = True
        try:
            yield self.batch(empty=True)  # the listener learns at once that it is heard, and where it begins
            while going_on():
                batch = self.batch()
                if batch:
                    yield batch
                if len(batch) < _BATCH:
                    await asyncio.sleep(_PAUSE)
            while batch := self.batch():
                yield batch
        finally:
            self.listening = False


class ViewHooks(NoHooks):
    """Collects the messages of each child while it lives, and keeps them as one view when it ends."""

    def __init__(self, recording: Recording, children: frozenset[str]) -> None:
        self._recording = recording
        self._children = children
        self._seen: WeakKeyDictionary[Asked, dict[str, list[Message]]] = WeakKeyDictionary()

    def request_built(self, request: ModelRequest) -> None:
        """Add what this request shows for the first time."""
        if request.agent not in self._children:
            return
        seen = self._seen.setdefault(ASKED.get(), {}).setdefault(request.agent, [])
        known = {id(message) for message in seen}
        seen += [message for message in request.messages if id(message) not in known]

    def context_died(self, agent: str, ending: str) -> None:
        """Keep the view of the child that ended."""
        asked = ASKED.get()
        messages = self._seen.get(asked, {}).pop(agent, None)
        if messages:
            text = "\n".join(map(_text, messages))
            self._recording.keep(
                {"user": asked.user, "session": asked.session, "agent": agent, "ending": ending, "text": text}
            )


def _text(message: Message) -> str:
    if not message.calls:
        return message.content
    return f"{message.content} {canonical([[call.name, dict(call.arguments)] for call in message.calls])}"
