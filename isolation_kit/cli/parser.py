"""The words of the command line. Each command is loaded when it is called, so that `--help` is quick."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module

__all__ = ["DEFAULT_CONFIG", "parser"]

DEFAULT_CONFIG = "isolation.toml"
_TWINS = (
    "with one seeded defect: shared-identity, module-session, cache-without-user, pooled-child, "
    "cancelled-reply or pooled-store"
)

Command = Callable[[argparse.Namespace, Sequence[str]], int]


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="isolation-kit",
        description="Prove or refute the context isolation of parent/child agent systems.",
        epilog="Exit codes: 0 pass, 1 leak or loss, 2 usage, 3 error of kit or target, 4 inconclusive.",
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    init = _add(commands, "init", "audit:init", "write an isolation.toml and an example target that run")
    init.add_argument("folder", nargs="?", default=".", help="where (default: here)")
    _add(commands, "demo", "demo:demo", "show a leaky and a clean runtime side by side, in seconds")
    run = _add(commands, "run", "audit:run", "audit the targets of isolation.toml")
    run.add_argument("file", nargs="?", metavar="FILE", help="the same as --config FILE")
    _run_options(run)
    replay = _add(commands, "replay", "audit:replay", "judge one stored case again")
    replay.add_argument("case", metavar="CASE.json", help="a file from .isolation/cases/")
    _shared(replay)
    _report_commands(commands)
    policy = _add(commands, "policy", "policy:suggest", "draft [[allow]] entries for the leaks of a report")
    policy.add_argument("action", choices=["suggest"])
    policy.add_argument("file", nargs="?", default=".isolation/report.json", metavar="REPORT.json")
    policy.add_argument("--to", metavar="PATH", help="a new file (default: standard output)")
    _load_commands(commands)
    catalogue = _add(commands, "catalogue", "audit:catalogue", "check content folders")
    catalogue.add_argument("action", choices=["check"])
    for name in ("attacks", "fingerprints"):
        catalogue.add_argument(f"--{name}", action="append", default=[], metavar="FOLDER")
    matrix = _add(
        commands, "matrix", "matrix:matrix", "hunt the kit's seeded defects; write which oracle kills which"
    )
    matrix.add_argument("--mutants", action="store_true", required=True, help="over the seeded defects")
    matrix.add_argument("--seeds", default="7", metavar="A-B", help="seeds of the hunts (default: 7)")
    matrix.add_argument("--cases", type=int, default=1000, metavar="N", help="cases of a hunt at most")
    matrix.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="this defect only; m21 is enough of a name",
    )
    matrix.add_argument("--named", action="store_true", help="the named oracles alone: no look by the others")
    matrix.add_argument("--looks", type=int, default=50, metavar="N", help="cases that all oracles look at")
    matrix.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    matrix.add_argument(
        "--to",
        metavar="PATH",
        help="where the table goes (a whole one: reports/samples/mutants.md, in a checkout)",
    )
    return top


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, place: str, text: str
) -> argparse.ArgumentParser:
    made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    module, _, function = place.partition(":")

    def command(arguments: argparse.Namespace, words: Sequence[str]) -> int:
        call: Command = getattr(import_module(f"isolation_kit.cli.{module}"), function)
        return call(arguments, words)

    made.set_defaults(command=command)
    return made


def _shared(command: argparse.ArgumentParser) -> None:
    command.add_argument("--config", default=DEFAULT_CONFIG, metavar="PATH", help="the configuration file")
    command.add_argument("--target", metavar="NAME", help="this target only")


def _run_options(command: argparse.ArgumentParser) -> None:
    _shared(command)
    for name, metavar, text in (
        ("cases", "N", "generated cases per item"),
        ("seed", "S", "seed of the run"),
        ("profile", "NAME", "quick, ci or deep"),
        ("max-time", "5m", "start no further block of cases after this time"),
        ("baseline", "PATH", "file of known leaks"),
        ("fail-on", "WHAT", "any, new or never"),
        ("shard", "i/n", "run the i-th of n parts"),
    ):
        command.add_argument(f"--{name}", metavar=metavar, help=text)
    command.add_argument(
        "--update-baseline", action="store_true", default=None, help="write new leaks into it"
    )
    command.add_argument("--reveal", action="store_true", default=None, help="store leaking cases' raw bytes")
    command.add_argument(
        "--report", action="append", dest="reports", metavar="TYPE:PATH", help="json, md, html"
    )


def _report_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    report = _add(commands, "report", "reports:report", "show a report, or write it in another format")
    report.add_argument("file", nargs="?", default=".isolation/report.json", metavar="REPORT.json")
    report.add_argument("--to", action="append", default=[], metavar="TYPE:PATH", help="json, md or html")
    report.add_argument(
        "--recover", action="store_true", help="rebuild it from what a killed run left in the output folder"
    )
    report.add_argument("--config", default=DEFAULT_CONFIG, metavar="PATH", help="for --recover")
    compare = _add(commands, "compare", "reports:compare", "what is new and what is gone between two reports")
    compare.add_argument("before", metavar="BEFORE.json")
    compare.add_argument("after", metavar="AFTER.json")
    merge = _add(commands, "merge", "reports:merge", "add the reports of shards or days up")
    merge.add_argument("files", nargs="+", metavar="REPORT.json")
    merge.add_argument("--to", action="append", default=[], metavar="TYPE:PATH", help="json, md or html")
    merge.add_argument("--fail-on", default="any", metavar="WHAT", help="any, new or never")


_LOCUSTFILE = (
    "a locustfile with an IsolationUser of your own, which is a FastHttpUser of Locust's (default: one for "
    "`serve`); its say(turn, how) passes how on: catch_response=True, stream=True, name='turn'"
)


def _load_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    serve = _add(commands, "serve", "load:serve", "serve the reference runtime over HTTP, to be loaded")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=int, default=8089, help="0 for any that is free (default: 8089)")
    serve.add_argument("--target", help="task or rules (default: task, or the twin's)")
    serve.add_argument("--twin", default="", metavar="NAME", help=_TWINS)
    serve.add_argument("--latency", type=float, default=1.0, metavar="MS", help="of models and tools")
    serve.add_argument("--parents", type=int, default=64, metavar="N", help="parents that share 64 shards")
    serve.add_argument("--sessions", type=int, default=10_000, metavar="N", help="open sessions at most")
    serve.add_argument("--store", metavar="FILE", help="SQLite file of the session store (default: memory)")
    serve.add_argument("--launch", default="inline", help="inline, or process: each child in its own")
    serve.add_argument(
        "--record", metavar="FILE", help="turn the side channel on; FILE holds its token, made if absent"
    )
    load = _add(commands, "load", "load:load", "load a service with many users and judge every answer")
    load.add_argument("--host", required=True, metavar="URL", help="the service, like http://127.0.0.1:8089")
    load.add_argument("--users", type=int, default=100, metavar="N", help="at once (default: 100)")
    load.add_argument("--time", default="30s", metavar="30s", help="how long (default: 30s)")
    load.add_argument("-f", "--file", metavar="PATH", help=_LOCUSTFILE)
    load.add_argument("--ramp", action="store_true", help="find the smallest number of users that leaks")
    load.add_argument("--step-seconds", default="5", metavar="S", help="of each step of a ramp")
    load.add_argument("--processes", type=int, default=0, metavar="N", help="worker processes")
    load.add_argument("--recording", metavar="FILE", help="what `serve --record FILE` wrote: judge views too")
    load.add_argument("--config", metavar="PATH", help="an isolation.toml, for its policy and gate")
    load.add_argument("--output", default=".isolation", metavar="FOLDER", help="findings log and reports")
    load.add_argument("--seed", metavar="S", help="of all tokens (default: another one each time)")
    load.add_argument("--families", default="", metavar="A,B", help="families of attacks")
    load.add_argument("--tolerance", default="0", metavar="SHARE", help="of requests that may fail, 0..1")
    load.add_argument("--no-check", action="store_true", help="the same load, nothing judged")
