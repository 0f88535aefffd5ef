"""The words with which `isolation-kit load` starts Locust."""

from __future__ import annotations

import re
import socket
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from isolation_kit.errors import ConfigError, UsageError
from isolation_kit.faces import Output
from isolation_kit.load.settings import LoadSettings, add_options

__all__ = ["locust_command"]

_TIME = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?", re.ASCII)
_LONGEST = 168 * 3600  # seconds
_FILES = Path(__file__).parent / "locustfiles"


def locust_command(arguments: Namespace, words: Sequence[str] = ()) -> tuple[str, ...]:
    """Locust's command line for the options of `isolation-kit load`.

    Args:
        words: the command as it was typed, for the report.

    Raises:
        UsageError: without Locust, for a host that is no URL, a folder that cannot be written to, and for
            numbers that make no load.
    """
    if find_spec("locust") is None:
        raise UsageError("locust is not installed; it comes with an extra: pip install 'isolation-kit[load]'")
    _check_host(arguments.host)
    if arguments.users < 1 or arguments.processes < 0:
        raise UsageError(
            f"--users {arguments.users} --processes {arguments.processes} is no load; give at least one "
            "user, for example --users 100"
        )
    _check_time(arguments.time)
    if not all(Path(file).exists() for file in (arguments.file or ".").split(",")):
        raise UsageError(
            f"--file {Path(arguments.file).name[:60]} is not there; name your locustfile, for example "
            "-f locustfile.py"
        )
    own = _own(arguments, words)
    output = Path(arguments.output)
    _check_output(output)
    files = [Path(arguments.file) if arguments.file else _FILES / "isolation_service.py"]
    files += [_FILES / "isolation_ramp.py"] if arguments.ramp else []
    users = str(arguments.users)
    told = ["-f", ",".join(map(str, files)), "--headless", "--host", arguments.host, "-u", users]
    told += ["-r", users, "--only-summary", "--loglevel", "WARNING", "--html", str(output / "locust.html")]
    told += [] if arguments.ramp else ["-t", arguments.time]
    told += _workers(arguments.processes) if arguments.processes else []
    return (sys.executable, "-m", "locust", *told, *own)


def _own(arguments: Namespace, command: Sequence[str]) -> list[str]:
    """The kit's own options, refused here if they cannot be: in Locust's processes that is late.

    Raises:
        UsageError: for those out of bounds.
    """
    words: list[str] = []
    for name, value in (
        ("output", arguments.output),
        ("seed", arguments.seed),
        ("config", arguments.config),
        ("families", arguments.families),
        ("recording", arguments.recording),
        ("tolerance", arguments.tolerance),
        ("check", "off" if arguments.no_check else ""),
        ("step-seconds", arguments.step_seconds),
        ("command", " ".join(command)),
    ):
        words += [f"--isolation-{name}", str(value)] if value else []
    parser = ArgumentParser(allow_abbrev=False)
    add_options(parser)
    LoadSettings.of(vars(parser.parse_args(words)))
    return words


def _check_time(given: str) -> None:
    """Refuse what Locust would read as no end, or not read at all."""
    parts = _TIME.fullmatch(f"{given}s" if given.isdecimal() else given)
    hours, minutes, seconds = (int(part or 0) for part in parts.groups()) if parts else (0, 0, 0)
    if not 0 < hours * 3600 + minutes * 60 + seconds <= _LONGEST:
        raise UsageError(
            f"--time {given[:20]!r} is no time to load for; allowed are 1s to 168h, as hours, minutes and "
            "seconds, for example --time 30s or --time 1h20m"
        )


def _check_host(host: str) -> None:
    try:
        parts = urlsplit(host)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    if not right:
        raise UsageError("--host is no URL; give scheme, host and port, for example http://127.0.0.1:8089")
    if "@" in parts.netloc:
        raise UsageError(
            "--host holds a name or a password, which reports and the process list would show; allowed is a "
            "URL without, for example http://127.0.0.1:8089; let say() of your locustfile send the header"
        )


def _check_output(folder: Path) -> None:
    """Lay it out now: Locust would first load the service, and then lose what came out."""
    output = Output(folder)
    try:
        output.prepare(fresh=False)
        output.release()
    except ConfigError as error:
        raise UsageError(f"--output cannot be used: {error}; here --output build/load") from None


def _workers(processes: int) -> list[str]:
    """Workers of this run only: on the loopback, and at a port that no other run, or what one left, knows."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    words = ["--processes", str(processes), "--master-bind-host", "127.0.0.1", "--master-bind-port", port]
    return [*words, "--master-port", port]
