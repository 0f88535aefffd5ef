"""Plain words for what the document holds in codes: slots, channels, directions, shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isolation_kit.finding import COMPARED
from isolation_kit.report.rows import child_of, recipient

__all__ = [
    "capital",
    "channel_words",
    "count_words",
    "listed",
    "of_load",
    "percent",
    "replay_failed",
    "replay_line",
    "share_brief",
    "share_words",
    "story",
    "what_words",
]

_SLOTS: Mapping[str, str] = {
    "user.current": "the user's current text",
    "user.earlier": "the user's earlier text",
    "parent.system": "the parent's system prompt",
    "parent.description": "the parent's description",
    "parent.text": "the parent's own text",
    "parent.tool.args": "arguments of the parent's tools",
    "parent.tool.result": "results of the parent's tools",
    "parent.tool.noise": "debug noise of the parent's tools",
    "parent.tool.description": "descriptions of the parent's tools",
    "parent.state": "the parent's state",
    "parent.metadata": "the parent's metadata",
    "parent.session_id": "the parent's session id",
    "parent.retrieved": "pages that the parent retrieved",
    "parent.memory": "the parent's memory",
    "parent.file": "the parent's files",
    "environment": "environment variables",
    "task.goal": "the task's goal",
    "task.input": "the task's input",
    "task.constants": "the task's constants",
    "child.answer": "the child's answer",
    "child.text": "the child's scratch text",
    "child.tool.args": "arguments of the child's tools",
    "child.tool.result": "results of the child's tools",
    "child.tool.noise": "debug noise of the child's tools",
}
_CHANNELS: Mapping[str, str] = {
    "child.request": "the model request of {}",
    "child.headers": "the request headers of {}",
    "child.tools": "the tool schemas offered to {}",
    "child.tool.args": "the tool arguments of {}",
    "child.tool.result": "the tool results of {}",
    "child.context": "the context injected into {}",
    "parent.request": "the model request of {}",
    "final.output": "the final answer of {}",
    "stream": "the stream of {}",
    "store": "the session store, at {}",
    "log": "the log, at {}",
    "span": "the trace spans, at {}",
    "artifact": "an artifact of {}",
    "environment": "the environment of {}",
    "process.memory": "the process memory, at {}",
}
_PLURAL = ("arguments ", "results ", "descriptions ", "pages ", "environment variables")
_PLURAL_ENDS = ("'s files", "'s constants")
_FEW = 10
_BEFORE: Mapping[str, str] = {
    "across": "another user's or person's data: ",
    "after": "data of an ended session or case: ",
    "sideways": "another delegation's data: ",
}


def count_words(count: int, one: str, many: str = "") -> str:
    """`1 leak`, `3 leaks`, `1,000 cases`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def percent(share: float) -> str:
    """A share 0..1 as a percentage that never rounds to 0 or 100 what is not."""
    value = 100 * share
    if value in (0.0, 100.0):
        return f"{value:.0f} %"
    if value < 0.1:
        return "under 0.1 %"
    if value > 99.9:
        return "over 99.9 %"
    return f"{value:.1f} %" if value < 10 or value > 99 else f"{value:.0f} %"


def share_words(share: Mapping[str, Any]) -> str:
    """A share with its 95 % interval; nothing found is "at most", never "none"."""
    if not share["n"]:
        return "n unknown" if share["count"] else "not tested"
    if not share["count"]:
        return f"at most {percent(share['high'])}"
    if share["count"] == share["n"]:
        return f"{_all_of(share)} (at least {percent(share['low'])})"
    low, high = percent(share["low"]), percent(share["high"])
    return f"{percent(share['share'])} ({low.removesuffix(' %')} to {high})"


def share_brief(share: Mapping[str, Any]) -> str:
    """`share_words` for a narrow column: `96 % (94-97)`, `100 % (>97.9)`, `3/3 (>29)`, `<1.5 %`."""
    if not share["n"] or not share["count"]:
        return share_words(share).replace("at most ", "<")
    low, high = (percent(share[name]).removesuffix(" %") for name in ("low", "high"))
    if share["count"] == share["n"]:
        return f"{_all_of(share).replace(' of ', '/')} (>{low})"
    return f"{percent(share['share'])} ({low}-{high})"


def _all_of(share: Mapping[str, Any]) -> str:
    """All cases: of a few, as a number, for a percentage would say more than is known."""
    return "100 %" if share["n"] >= _FEW else f"{share['n']} of {share['n']}"


def of_load(report: Mapping[str, Any]) -> bool:
    """True for a report of load runs: a service was used as it is, so nothing of it can be replayed."""
    return bool(report["scope"]["models"] != "puppets")


def replay_line(report: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """The command that shows a fingerprint's stored case again; "" where none can.

    A case that shows what an earlier one left behind shows nothing on its own: its replay would be green.
    """
    case = row["smallest"]
    if not case or of_load(report) or (row["direction"] == "after" and not case["reduced"]):
        return ""
    return _replay(report, case["file"])


def replay_failed(report: Mapping[str, Any], item: Mapping[str, Any]) -> str:
    """The command that runs the first stored case again which ended in an error; "" where there is none."""
    files = item.get("failed", ())
    return _replay(report, files[0]) if files and not of_load(report) else ""


def _replay(report: Mapping[str, Any], file: str) -> str:
    config = report["run"].get("config", "")
    return f"isolation-kit replay {file}" + (f" --config {config}" if config else "")


def what_words(what: str) -> str:
    """A slot, or an undeclared field, as a person would say it."""
    if what.startswith("field."):
        return f"undeclared field {what.removeprefix('field.')}"
    return _SLOTS.get(what, what)


def channel_words(row: Mapping[str, Any], roots: Mapping[str, str]) -> str:
    """Where a fingerprint was seen, as a person would say it. `roots`: target to its root."""
    if row["channel"] == "result":
        parent = row["edge"].rpartition(">")[0]
        return f"the result that {child_of(row['edge'])} hands back" + (f" to {parent}" if parent else "")
    words = _CHANNELS.get(row["channel"], row["channel"] + " of {}")
    return str(words).replace("{}", recipient(row, roots))


def story(row: Mapping[str, Any], roots: Mapping[str, str]) -> str:
    """One fingerprint as half a sentence: what goes where, or what it changes there without being seen."""
    what = what_words(row["what"])
    many = row["what"] in _SLOTS and (what.startswith(_PLURAL) or what.endswith(_PLURAL_ENDS))
    verb = "reach" if many else "reaches"
    if row["forms"] and COMPARED.issuperset(row["forms"]):
        verb = "change" if many else "changes"
    if row["kind"] == "LOSS":
        verb = "do not reach" if many else "does not reach"
    return f"{_BEFORE.get(row['direction'], '')}{what} {verb} {channel_words(row, roots)}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """`a, b and 3 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def capital(text: str) -> str:
    """`text` with a capital first letter."""
    return text[:1].upper() + text[1:]
