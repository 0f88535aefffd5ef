"""The first lines of every face: what leaks, where to, how often, and what to do first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isolation_kit.intervals import effective_interval
from isolation_kit.report.advice import LOAD, advice
from isolation_kit.report.loads import again, at_users
from isolation_kit.report.rows import worst_family
from isolation_kit.report.sampling import compared, parrots, quiet
from isolation_kit.report.shards import missing_words
from isolation_kit.report.words import (
    capital,
    count_words,
    of_load,
    percent,
    replay_failed,
    replay_line,
    share_words,
    story,
)

__all__ = ["first_step", "headline", "often", "roots_of", "summary"]

Report = Mapping[str, Any]


def _counted(report: Report, kind: str = "") -> list[Mapping[str, Any]]:
    return [row for row in report["fingerprints"] if row["counts"] and kind in ("", row["kind"])]


def headline(report: Report) -> str:
    """What leaks, where to and how often, in one sentence."""
    if not report["items"]:
        return "Nothing was tested, so nothing is known."
    top = next(iter(_counted(report)), None)
    if top is not None:
        where = f" (target {top['target']})" if len({item["target"] for item in report["items"]}) > 1 else ""
        return f"{capital(story(top, roots_of(report)))}{where}{often(worst_family(top))}{at_users(report)}."
    if report["verdict"] == "PASS":
        return _no_leak(report)
    item = next((item for item in report["items"] if item["verdict"] == report["verdict"]), None)
    if item is None:  # no item is to blame: a part of the run is missing
        return missing_words(report["scope"]["missing_shards"][0])
    reason = item["reasons"][0] if item["reasons"] else "an oracle says so, and names no fingerprint"
    return f"{item['id']}: {reason}."


def _no_leak(report: Report) -> str:
    """How many cases say so, and by what."""
    items: Sequence[Mapping[str, Any]] = report["items"]
    n, loud = quiet(items), parrots(items)
    without = f" (without {count_words(loud, 'parrot case')})" if loud else ""
    high = percent(effective_interval(0, n, [])[1])
    if of_load(report):
        checked = f"{count_words(n, 'checked exchange')}{at_users(report)}"
        return f"No leak in {checked}: at most {high} of such exchanges leak."
    return (
        f"No leak in {count_words(n, 'case')}{without}: at most {high} of such generated cases leak. "
        f"This rests on planted tokens in all of them, and on compared runs in {compared(items):,}."
    )


def roots_of(report: Report) -> dict[str, str]:
    """Target to its root agent."""
    return {target["name"]: target["root"] for target in report["targets"]}


def often(share: Mapping[str, Any]) -> str:
    """How often, as the end of a sentence; the same words wherever a share of one family is told."""
    if not share["n"]:
        return "; how often is unknown"
    if share["family"] == "sweep":
        return f" in {share['count']:,} of the {count_words(share['n'], 'sweep case')}"
    if share["family"].startswith(LOAD):
        return f" in {share_words(share)} of the {share['family']} exchanges"
    return f" in {share_words(share)} of the generated {share['family']} cases"


def summary(report: Report) -> str:
    leaks, losses = len(_counted(report, "LEAK")), len(_counted(report, "LOSS"))
    load = of_load(report)
    fresh = sum(row["status"] == "new" for row in _counted(report))
    items = report["items"]
    leak, loss, many = (
        ("kind of leak", "kind of loss", "kinds of loss") if load else ("leak", "loss", "losses")
    )
    found = count_words(leaks, leak, "kinds of leak" if load else "leaks")
    found += f" and {count_words(losses, loss, many)}" if losses else ""
    parts = [found + (f" ({fresh} new)" if fresh != leaks + losses else "")]
    for state, one, many in (("exposure", "exposure", ""), ("allowed", "allowed", "allowed")):
        count = sum(row["state"] == state for row in report["fingerprints"])
        if count:
            parts.append(count_words(count, one, many))
    cases = sum(item["cases"] for item in items)
    targets = len({item["target"] for item in items})
    return (
        f"{', '.join(parts)} in {count_words(cases, 'exchange' if load else 'case')}, "
        f"{count_words(len(items), 'item')}, {count_words(targets, 'target')}"
    )


def first_step(report: Report, classes: Report) -> dict[str, str]:
    """What to do first."""
    top = next(iter(_counted(report)), None)
    known = None if top is None else advice(top, classes)
    if known is not None:
        remedy: dict[str, str] = known["remedy"]
        return {"en": remedy["en"] + again(report, "en"), "zh": remedy["zh"] + again(report, "zh")}
    if top is not None and (replay := replay_line(report, top)):
        return _both(f"Replay the smallest case: {replay}")
    if top is not None:
        return _both(f"Look at the first case named below; it shows the leak.{again(report, 'en')}")
    if report["verdict"] == "PASS":
        return _both("Nothing has to be done.")
    if report["verdict"] == "INCONCLUSIVE" and not report["items"]:
        return _both("Name a target and a family in isolation.toml, then run again.")
    if not any(item["verdict"] == report["verdict"] for item in report["items"]):
        return _both("Merge the reports of all shards: isolation-kit merge shard-1.json shard-2.json ...")
    if report["verdict"] == "ERROR":
        return _both(_mend(report))
    return _both("Remove this reason and run again; until then the run proves nothing.")


def _mend(report: Report) -> str:
    """What to do about an error, with the command that shows it again where a case of the target did."""
    replays = (replay_failed(report, item) for item in report["items"] if item["verdict"] == "ERROR")
    if replay := next(filter(None, replays), ""):
        return f"Mend what this reason names; this runs the case alone, also under a debugger: {replay}"
    return "Mend what this reason names and run again; an item with an error proves nothing."


def _both(text: str) -> dict[str, str]:
    return {"en": text, "zh": ""}
