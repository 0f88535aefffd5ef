"""How a forked process becomes a child: alone, with one descriptor, its limits set before it has a task.

Until its order comes it waits at its post, a socket from the zygote; with the order comes its pipe.
"""

from __future__ import annotations

import os
import socket
from typing import NoReturn

from isolation_kit.runtime.process import endings, inside
from isolation_kit.runtime.process.linux import adopt_orphans, die_with_parent, limit, mapped
from isolation_kit.runtime.process.orders import request_of
from isolation_kit.runtime.process.rehearsal import rehearse

__all__ = ["REQUEST_BYTES", "be_born"]

REQUEST_BYTES = 256  # at most; a record comes whole or not at all
_CHANNEL = 3


def be_born(post: int, zygote: int, *, ahead: bool) -> NoReturn:
    """Become a child: a session of its own, one descriptor; wait for the order; live under its limits."""
    try:
        die_with_parent()  # first, for it still holds what is the zygote's
        if os.getppid() != zygote:  # it died before the line above
            os._exit(endings.CRASHED)
        os.dup2(post, _CHANNEL)
        os.closerange(_CHANNEL + 1, max(os.sysconf("SC_OPEN_MAX"), post + 1))
        os.setsid()
        adopt_orphans()  # what flees from it stays below it while it lives: whose it is, is never in doubt
        if ahead:
            rehearse()  # now, and not after the order, it gets its own copies of the pages that it will write
        inside.live(_ordered(mapped()))
    except MemoryError:
        os._exit(endings.OUT_OF_MEMORY)
    except BaseException as error:
        os._exit(endings.broken_by(error))
    os._exit(0)


def _ordered(taken: int) -> socket.socket:
    """Wait for the order, set its limits, and return the pipe that came with it, which replaces the post.

    Args:
        taken: bytes of address space that are no child's, so that its limit does not count them.
    """
    post = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=_CHANNEL)
    data, descriptors, _, _ = socket.recv_fds(post, REQUEST_BYTES, 1)
    request = request_of(data)
    os.dup2(descriptors[0], post.detach())
    os.close(descriptors[0])
    limit(taken, 2 * request.memory_mib, request.file_bytes)
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=_CHANNEL)
