"""What runs in a child's process in these tests: one clean entry, and many that mean harm."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any, NoReturn

from isolation_kit.runtime import Message, TaskBrief
from isolation_kit.runtime.bridge import encode_result
from isolation_kit.runtime.process import ChildLink
from isolation_kit.runtime.process.frames import Kind, packed

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


def mistyped(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Add a text to a number."""
    return {"answer": 1 + asked(brief)}  # type: ignore[operator]


def misspelt(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Use a name that does not exist."""
    raise NameError(asked(brief))


def unimportable(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Import a module that does not exist."""
    raise ModuleNotFoundError(asked(brief))


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


def flood(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Send the smallest log lines without end, many at once."""
    lines = packed(Kind.LOG, [0, "a"]) * 5000
    while True:
        link.pipe.sendall(lines)


def flood_calls(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Call a tool without end."""
    while True:
        link.tool("lookup", "q")


def own_words(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Say the request where a reason code belongs."""
    link.send(Kind.ALARM, asked(brief))
    return {"answer": "ok"}


def own_kind(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Say it where the kind of a dropped field belongs."""
    link.send(Kind.POLLUTION, [["path", asked(brief), 1, "v"]])
    return {"answer": "ok"}


def many_drops(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Report more dropped fields than an honest child does."""
    for _ in range(20):
        link.send(Kind.POLLUTION, [["path", "string", 1, "v"]] * 100)
    return {"answer": "ok"}


def own_reason(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Say it where the reason in the log belongs."""
    link.send(Kind.LOG, [0, asked(brief)])
    return {"answer": "ok"}


def large_request(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Ask the model with more than the window holds."""
    link.model((Message("user", "word " * 20_000),))
    return {"answer": "ok"}


def slips(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Log with arguments that do not fit, and what no file can hold."""
    import logging

    logging.getLogger("theirs").warning("took %d ms", "many")
    logging.getLogger("theirs").warning("\ud800")
    return {"answer": "ok"}


def fill(size: int) -> bytearray:
    """Memory that is really there."""
    return bytearray(b"x") * size


def flee_with_memory(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Let processes that have fled take the memory: none of them too much alone."""
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                kept = fill(20 << 20)
                time.sleep(HOUR + len(kept))
            os._exit(0)
    return silent(brief, link)


def share_memory(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Take memory that could be shared."""
    block = mmap.mmap(-1, 50 << 20)
    block.write(bytes(50 << 20))
    return silent(brief, link)


def segment(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Leave a System V segment behind. Answer its number."""
    return {"answer": str(ctypes.CDLL(None).shmget(0, 4096, 0o1600))}


def share_with_a_fork(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Two processes, one block of memory: it is there once."""
    kept = fill(20 << 20)
    if os.fork() == 0:
        time.sleep(0.2 + len(kept) * 0)
        os._exit(0)
    os.wait()
    return {"answer": "ok"}


def helped(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Wait for a process of its own whose parent is dead; meanwhile others end."""
    ours, theirs = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(0.6)
            os.write(theirs, b"helped")
        os._exit(0)
    os.wait()
    os.close(theirs)
    return {"answer": os.read(ours, 10).decode()}


def orphan_answers(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Flee, kill the zygote from there, and answer in the dead child's name."""
    zygote = os.getppid()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            link.model((Message("user", str(os.getpid())),))
            os.kill(zygote, signal.SIGKILL)
            time.sleep(0.3)
            link.send(Kind.RESULT, encode_result({"task_id": brief.task_id, "status": "succeeded"}))
            time.sleep(HOUR)
        os._exit(0)
    return silent(brief, link)


LEFT: list[str] = []


def remember(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Answer with what an earlier child left in this process, and leave the request there."""
    found = list(LEFT)
    LEFT.append(asked(brief))
    return {"answer": " ".join(found) or "nothing"}


def ids(brief: TaskBrief, link: ChildLink) -> Mapping[str, Any]:
    """Who and whose this process is."""
    return {"answer": f"{os.getpid()} {os.getppid()} {os.getsid(0)}"}
