"""The service under load: throughput beside an empty endpoint, the price of judging, each twin, shards.

    PYTHONPATH=. python tests/benchmarks/bench_load.py [--seconds 30] [--only throughput,twins,...]

Service and load run in processes of their own, on one machine, in a closed loop without waits. Figures of
one run stand beside each other; a busy machine lowers both.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from isolation_kit.load.tokens import Tokens
from isolation_kit.runtime.sharding import SHARDS, parent_of, shard_of
from isolation_kit.service.twins import TWINS

HERE = Path(__file__).parent
KIT = (sys.executable, "-m", "isolation_kit.cli")
EMPTY = """
import socket, sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
async def turn(request):
    await request.body()
    return JSONResponse({"answer": "done"})
async def health(request):
    return JSONResponse({"target": "task"})
app = Starlette(routes=[Route("/v1/sessions/{s}/turns", turn, methods=["POST"]), Route("/health", health)])
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=2048)
uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False)).run([listener])
"""
PLAIN = """
from isolation_kit.load import ServiceUser
class PlainUser(ServiceUser):
    echoes = False
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(HERE.parents[1])}


@contextmanager
def serving(folder: Path, *command: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A server; stopped by its id."""
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, cwd=folder, env=environment(), stdout=quiet, stderr=quiet)
    try:
        for _ in range(200):
            try:
                urlopen(f"http://127.0.0.1:{port}/health", timeout=2).close()
                break
            except OSError:
                time.sleep(0.1)
        yield server
    finally:
        server.terminate()
        server.wait(30)


@contextmanager
def service(folder: Path, *options: str, port: int = 0) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    port = port or free_port()
    with serving(folder, *KIT, "serve", "--port", str(port), *options, port=port) as server:
        yield f"http://127.0.0.1:{port}", server


def load(folder: Path, url: str, users: int, seconds: float, *options: str) -> dict[str, Any]:
    """One load run: what load.json says, and `code`."""
    words = (*KIT, "load", "--host", url, "--users", str(users), *options)
    timed = () if "--ramp" in options else ("--time", f"{seconds:g}s")
    done = subprocess.run(
        (*words, *timed),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    if done.returncode in (2, 3):
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    told = json.loads((folder / ".isolation" / "load.json").read_text("utf-8"))
    smallest = [
        line for line in done.stdout.splitlines() if "number of users" in line or "no leak at" in line
    ]
    return {**told, "code": done.returncode, "smallest": smallest[-1] if smallest else ""}


def row(*cells: object) -> None:
    print("  ".join(f"{cell!s:>11}" if n else f"{cell!s:<34}" for n, cell in enumerate(cells)), flush=True)


def figures(name: str, told: dict[str, Any], spent: float) -> float:
    """One line of the throughput table; CPU milliseconds of a request, at the load and at the server."""
    times, counted = told["latency_ms"], told["counters"]
    cpu = [f"{1000 * seconds / max(counted['sent'], 1):.2f}" for seconds in (told["cpu_seconds"], spent)]
    found = [counted[key] for key in ("leaks", "losses", "failed")]
    row(name, *(f"{times.get(key, 0):.0f}" for key in ("rate", "p50", "p95", "p99")), *cpu, *found)
    return float(times["rate"])


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def throughput(folder: Path, seconds: float) -> None:
    """100 and 500 users: an empty endpoint, the clean service unjudged, judged, and judged with views."""
    (folder / "empty.py").write_text(EMPTY, "utf-8")
    (folder / "plain.py").write_text(PLAIN, "utf-8")
    row("", "", "", "", "", "CPU ms a", "request", "", "", "")
    row("", "requests/s", "p50 ms", "p95 ms", "p99 ms", "load", "server", "leaks", "losses", "failed")
    for users in (100, 500):
        port = free_port()
        with serving(folder, sys.executable, "empty.py", str(port), port=port) as server:
            began = cpu_of(server.pid)
            empty = load(folder, f"http://127.0.0.1:{port}", users, seconds, "-f", "plain.py", "--no-check")
            base = figures(f"empty endpoint, {users} users", empty, cpu_of(server.pid) - began)
        rate = {}
        for name, extra, options in (
            ("unjudged", (), ("--no-check",)),
            ("judged", (), ()),
            ("judged with views", ("--record", "token"), ("--recording", "token")),
        ):
            with service(folder, *extra) as (url, server):
                began = cpu_of(server.pid)
                told = load(folder, url, users, seconds, *options)
                rate[name] = figures(f"clean, {users} users, {name}", told, cpu_of(server.pid) - began)
        row(f"  judged / unjudged, {users} users", f"{rate['judged'] / rate['unjudged']:.2f}")
        row(f"  judged / empty, {users} users", f"{rate['judged'] / base:.2f}")
    row("articles, 100 users", "", "", "840", "", "", "", "0.02-0.05 %")
    row("articles, 500 users", "", "", "1250")


def twins(folder: Path, seconds: float) -> None:
    """Each twin at 100 users, and the smallest number of users that shows it."""
    row("twin", "race", "checked", "leaks", "losses", "exit code")
    for twin in TWINS:
        with service(folder, "--twin", twin.name, "--record", "token") as (url, _):
            told = load(folder, url, 100, seconds, "--recording", "token")
        counted = told["counters"]
        row(twin.name, twin.race, counted["checked"], counted["leaks"], counted["losses"], told["code"])
        with service(folder, "--twin", twin.name, "--record", "token") as (url, _):
            step = str(max(2, seconds / 10))
            ramp = load(folder, url, 100, 0, "--ramp", "--step-seconds", step, "--recording", "token")
        print(f"    {ramp['smallest']}")


def shards(folder: Path, seconds: float) -> None:
    """A million users: how even the shards are, and whom the death of one parent touches."""
    tokens, most = Tokens(7), 1_000_000
    found = Counter(shard_of(tokens.name(user)) for user in range(most))
    expected = most / SHARDS
    chi = sum((found[shard] - expected) ** 2 / expected for shard in range(SHARDS))
    row("users", "shards", "fewest", "most", "chi-square", "(63 df, 95 %: 82.5)")
    row(f"{most:,}", len(found), min(found.values()), max(found.values()), f"{chi:.1f}")
    parents = tuple(f"parent-{number}" for number in range(SHARDS))
    names = [tokens.name(user) for user in range(20_000)]
    moved = sum(parent_of(name, parents) != parent_of(name, parents, ("parent-3",)) for name in names)
    row("a parent's death moves", f"{moved / len(names):.4f}", f"1/64: {1 / SHARDS:.4f}")


def memory(folder: Path, seconds: float) -> None:
    """50 users: resident memory and descriptors of the service, before and after."""
    with service(folder, "--sessions", "100") as (url, server):
        load(folder, url, 50, min(10, seconds))
        row("memory", "MB", "descriptors")
        row("after the warm-up", *_held(server.pid))
        load(folder, url, 50, seconds)
        row(f"after {seconds:g} seconds at 50 users", *_held(server.pid))


def _held(pid: int) -> tuple[str, int]:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return f"{pages * os.sysconf('SC_PAGE_SIZE') / 1e6:.1f}", len(list(Path(f"/proc/{pid}/fd").iterdir()))


def chaos(folder: Path, seconds: float) -> None:
    """The service is killed in the middle and started again: failures, and no acknowledged step lost.

    The second row is the same with a store in memory: what it forgets must be seen as losses.
    """
    row("killed in the middle", "checked", "leaks", "losses", "failed", "exit code")
    for name, store in (("store in a file", ("--store", "steps.db")), ("store in memory", ())):
        told, code = _killed(folder, seconds, "--target", "rules", *store)
        counted = told["counters"]
        row(name, *(counted[key] for key in ("checked", "leaks", "losses", "failed")), code)
    for name, (told, code, killed) in (
        ("children of the service", _children_killed(folder, seconds)),
        ("a worker of the load", _worker_killed(folder, seconds)),
    ):
        counted = told["counters"]
        row(name, *(counted[key] for key in ("checked", "leaks", "losses", "failed")), code)
        print(f"    {killed} killed with SIGKILL")


def _below(pid: int, levels: int = 1) -> list[int]:
    """The processes that are so many levels below one; what has ended meanwhile has none."""
    if not levels:
        return [pid]
    with suppress(OSError):
        words = "".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")).split()
        return [each for word in words for each in _below(int(word), levels - 1)]
    return []


def _loading(folder: Path, url: str, seconds: float, *options: str) -> subprocess.Popen[bytes]:
    words = (*KIT, "load", "--host", url, "--users", "20", "--tolerance", "1", "--time", f"{seconds:g}s")
    quiet = subprocess.DEVNULL
    return subprocess.Popen((*words, *options), cwd=folder, env=environment(), stdout=quiet, stderr=quiet)


def _children_killed(folder: Path, seconds: float) -> tuple[dict[str, Any], int, int]:
    """Child agents in processes of their own are killed while they work, as the kernel does out of memory."""
    killed = 0
    with service(folder, "--launch", "process", "--record", "token") as (url, server):
        running = _loading(folder, url, seconds, "--recording", "token")
        while running.poll() is None:
            time.sleep(0.2)
            for child in _below(server.pid, 3)[:1]:  # below the keeper and the zygote, which forks them
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
                    killed += 1
    told = json.loads((folder / ".isolation" / "load.json").read_text("utf-8"))
    return told, running.returncode, killed


def _worker_killed(folder: Path, seconds: float) -> tuple[dict[str, Any], int, int]:
    """One of two workers is killed in the middle: what it had counted by then is not forgotten."""
    with service(folder) as (url, _):
        running = _loading(folder, url, seconds, "--processes", "2")
        time.sleep(seconds / 2)
        os.kill(_below(running.pid, 2)[0], signal.SIGKILL)  # below the master
        code = running.wait()
    return json.loads((folder / ".isolation" / "load.json").read_text("utf-8")), code, 1


def _killed(folder: Path, seconds: float, *options: str) -> tuple[dict[str, Any], int]:
    port = free_port()
    words = (*KIT, "load", "--host", f"http://127.0.0.1:{port}", "--users", "20", "--tolerance", "1")
    quiet = subprocess.DEVNULL
    with service(folder, *options, port=port) as (_, first):
        timed = (*words, "--time", f"{seconds:g}s")
        running = subprocess.Popen(timed, cwd=folder, env=environment(), stdout=quiet, stderr=quiet)
        while not json.loads(urlopen(f"http://127.0.0.1:{port}/health", timeout=9).read())["sessions"]:
            time.sleep(0.1)
        time.sleep(seconds / 2)
        first.kill()
        first.wait()
        with service(folder, *options, port=port):
            code = running.wait()
    return json.loads((folder / ".isolation" / "load.json").read_text("utf-8")), code


PARTS = {"throughput": throughput, "twins": twins, "shards": shards, "memory": memory, "chaos": chaos}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    chosen = parser.parse_args()
    for name in chosen.only.split(","):
        with tempfile.TemporaryDirectory(prefix="isolation-kit-load-") as folder:
            print(f"\n== {name}")
            PARTS[name](Path(folder), chosen.seconds)


if __name__ == "__main__":
    main()
