"""What runs in a child's process in these tests: one clean entry, and many that mean harm."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any, NoReturn

from isolation_kit.runtime import Message, TaskBrief
from isolation_kit.runtime.process import ChildLink

HOUR = 3600


def asked(brief: TaskBrief) -> str:
    """The request of a brief."""
    return str(brief.inputs["request"])


def clean(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Ask the model and one tool, and answer."""
    said = link.model((Message("user", asked(brief)),)).text
    return {"answer": f"{said} {link.tool('lookup', 'q')}", "scratch": "undeclared"}


def surroundings(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """All that a process is given from outside, as one text."""
    with open("/proc/self/cmdline", "rb") as file:
        arguments = file.read().decode()
    open_ = {name: os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")[:-1]}
    return {"answer": repr((dict(os.environ), arguments, sys.argv, os.getcwd(), sorted(open_.items())))}


def silent(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Do nothing for an hour."""
    time.sleep(HOUR)
    return {}


def deaf(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Ignore every signal that can be ignored, for an hour."""
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    return silent(brief, link)


def stopped(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Stop, so that no handler could ever run."""
    os.kill(os.getpid(), signal.SIGSTOP)
    return {}


def fork_in_group(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Leave a process behind in the same group."""
    if os.fork() == 0:
        time.sleep(HOUR)
    return {"answer": "left one"}


def fork_and_flee(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Leave a process behind that has fled: a session of its own, its parent dead. Answer its pid."""
    ours, theirs = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            os.write(theirs, str(os.getpid()).encode())
            time.sleep(HOUR)
        os._exit(0)
    return {"answer": os.read(ours, 20).decode()}


def flee_and_hang(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """The same, and hang."""
    link.model((Message("user", str(fork_and_flee(brief, link)["answer"])),))
    return silent(brief, link)


def fork_tree_and_hang(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """A chain of processes, each in a session of its own, all of them alive and deaf; then hang."""
    for _ in range(4):
        if os.fork() != 0:
            time.sleep(HOUR)
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(HOUR)
    return {}


def program(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Start another program in the background."""
    subprocess.Popen(["sleep", str(HOUR)], start_new_session=True)
    return {"answer": "left one"}


def fill_memory(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Take memory without end, a little at a time."""
    kept = []
    while True:
        kept.append(bytearray(os.urandom(4096)) * 256)


def fill_memory_and_catch(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """The same, and never give up."""
    kept = []
    while True:
        with contextlib.suppress(MemoryError):
            kept.append(bytearray(os.urandom(4096)) * 256)


def one_large_block(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Ask for a terabyte at once."""
    return {"answer": str(len(bytearray(1 << 40)))}


def fill_memory_in_a_fork(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Let a process of one's own take the memory."""
    if os.fork() == 0:
        fill_memory(brief, link)
    return silent(brief, link)


def huge_frame(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Announce four gigabytes and begin to send them."""
    link.pipe.sendall(struct.pack("!BI", 4, 0xFFFFFFFF))
    while True:
        link.pipe.sendall(bytes(65536))


def many_frames(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Send small valid frames without end, at full speed."""
    while True:
        link.pipe.sendall(struct.pack("!BI", 10, 10) + b'[40,"aaaa"]'[:10])


def many_logs(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Log without end."""
    line = struct.pack("!BI", 10, 1033) + b'[40,"' + b"a" * 1026 + b'"]'
    while True:
        link.pipe.sendall(line * 64)


def garbage(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Write what is no frame: the request, which is what must show nowhere."""
    link.pipe.sendall(asked(brief).encode() * 100)
    return {}


def half_a_frame(brief: TaskBrief, link: ChildLink) -> NoReturn:
    """Begin a frame and die."""
    link.pipe.sendall(struct.pack("!BI", 11, 1000) + b"x")
    os._exit(0)


def close_pipe(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Close the one pipe and go on living."""
    link.pipe.close()
    return silent(brief, link)


def raising(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Raise with the request as text."""
    print(asked(brief))
    raise RuntimeError(asked(brief))


def crash(brief: TaskBrief, link: ChildLink) -> NoReturn:
    """Die of a signal, with no word."""
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError("unreachable")


def leave_file(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Write the request into the folder that the request names."""
    with contextlib.suppress(OSError), open(f"{asked(brief)}/left", "w") as file:
        file.write(asked(brief))
        file.flush()
    return {"answer": "left one"}


def tell_log(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Log the request with the logging library."""
    import logging

    logging.getLogger("theirs").error("saw %s", asked(brief))
    return {"answer": "ok"}


def model_for_ever(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Ask the model without end."""
    while True:
        link.model((Message("user", "again"),))


def foreign_tool(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Call a tool that was never offered."""
    return {"answer": link.tool("delete_all", "q")}


LEFT: list[str] = []


def remember(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Answer with what an earlier child left in this process, and leave the request there."""
    found = list(LEFT)
    LEFT.append(asked(brief))
    return {"answer": " ".join(found) or "nothing"}


def ids(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Who and whose this process is."""
    return {"answer": f"{os.getpid()} {os.getppid()} {os.getsid(0)}"}
