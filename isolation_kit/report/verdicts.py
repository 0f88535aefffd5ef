"""Verdicts: of an item, of the report, and the one that decides the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from isolation_kit.errors import UsageError
from isolation_kit.finding import Verdict, worst
from isolation_kit.fingerprints import Tally
from isolation_kit.report.facts import Facts, ItemFacts
from isolation_kit.report.restore import item_id
from isolation_kit.report.rows import counted

__all__ = ["exit_verdict", "item_rows", "report_verdict"]

_REASONS = 10
_CHOICES = ("any", "new", "never")

Trouble = list[tuple[Verdict, str]]


def report_verdict(items: Sequence[Mapping[str, Any]], missing_shards: Sequence[object] = ()) -> str:
    """The worst verdict of the items; a report over nothing, or over a part, is at least INCONCLUSIVE."""
    verdicts = [Verdict(item["verdict"]) for item in items]
    return str(worst([*verdicts, *(Verdict.INCONCLUSIVE for _ in missing_shards)]))


def exit_verdict(report: Mapping[str, Any], fail_on: str) -> str:
    """The verdict that decides the exit code: "any" leak or loss, only a "new" one, or "never" one.

    An error, and a run that concludes nothing, stay what they are under every choice.

    Raises:
        UsageError: for another choice.
    """
    if fail_on not in _CHOICES:
        raise UsageError(f"fail_on={fail_on!r} is unknown; allowed: {', '.join(_CHOICES)}; for example 'new'")
    others = [Verdict(item["otherwise"]) for item in report["items"]]
    others += [Verdict.INCONCLUSIVE for _ in report["scope"].get("missing_shards", ())]
    if fail_on == "any":
        return str(report["verdict"])
    if fail_on == "new":
        others += [
            Verdict(row["kind"]) for row in report["fingerprints"] if row["counts"] and row["status"] == "new"
        ]
        # A leak that no fingerprint tells of can be in no baseline.
        others += [Verdict(kind) for item in report["items"] for kind in item["unexplained"]]
    return str(worst(others))


def item_rows(facts: Facts) -> list[dict[str, Any]]:
    """All items in the order of the configuration."""
    pairs = sorted(facts.items.items(), key=lambda pair: (pair[1].order, pair[0]))
    return [_row(target, family, item, facts) for (target, family), item in pairs]


def _row(target: str, family: str, item: ItemFacts, facts: Facts) -> dict[str, Any]:
    tally = item.tally
    leaks = {
        kind for (_, kind, mode), hits in tally.hits.items() if counted(mode, hits, facts.policy.reachable)
    }
    unexplained = [
        str(kind)
        for kind in (Verdict.LEAK, Verdict.LOSS)
        if tally.verdicts[kind] and not any(key[1] is kind for key in tally.hits)
    ]
    trouble = _trouble(item, facts.policy.refused_share, loaded=facts.loaded)
    otherwise = worst([Verdict.PASS, *(verdict for verdict, _ in trouble)])
    return {
        "id": item_id(target, family),
        "order": item.order,
        "target": target,
        "family": family,
        "verdict": str(worst([otherwise, *leaks, *map(Verdict, unexplained)])),
        "otherwise": str(otherwise),
        "unexplained": unexplained,
        "cases": tally.n,
        "requested": item.requested,
        "cases_by_mode": {mode: tally.cases[mode] for mode in sorted(tally.cases)},
        "cases_by_verdict": {str(verdict): tally.verdicts[verdict] for verdict in Verdict},
        "oracles": _oracles(tally),
        "refused": tally.refused,
        "executions": tally.executions,
        "reasons": [reason for _, reason in trouble],
        "error": min(item.errors, default=""),
        "cut": "; ".join(sorted(item.cut)),
        "unreached": [{"child": child, "reason": why} for child, why in sorted(item.unreached)],
        "cuts": sorted(item.cut),
        "errors": sorted(item.errors),
        "failed": sorted(item.failed),
        "notes": sorted(item.notes),
        "not_tapped": sorted(item.not_tapped),
    }


def _trouble(item: ItemFacts, refused_share: float, *, loaded: bool) -> Trouble:
    """Why an item is no PASS even without a leak: never green on nothing."""
    tally, n = item.tally, item.tally.n
    out: Trouble = [(Verdict.ERROR, f"error: {text}") for text in sorted(item.errors)]
    if not item.errors and tally.verdicts[Verdict.ERROR]:
        out.append((Verdict.ERROR, f"{tally.verdicts[Verdict.ERROR]} of {n} cases ended in an error"))
    if n == 0:
        out.append((Verdict.INCONCLUSIVE, "no case ran"))
    out += [
        (Verdict.INCONCLUSIVE, f"child {child} was not reached" + (f": {why}" if why else ""))
        for child, why in sorted(item.unreached)
    ]
    if n < item.requested and not item.cut:
        out.append(
            (Verdict.INCONCLUSIVE, f"{item.requested - n} of {item.requested} cases are missing, unexplained")
        )
    if n and tally.refused >= n:
        out.append((Verdict.INCONCLUSIVE, f"all {n} cases were refused by the target: nothing was tested"))
    elif tally.refused > refused_share * n:
        allowed = f"at most {refused_share:.0%} may be"
        out.append(
            (Verdict.INCONCLUSIVE, f"{tally.refused} of {n} cases were refused by the target; {allowed}")
        )
    inconclusive = tally.verdicts[Verdict.INCONCLUSIVE]
    # A case that leaks counts as a leak, also where another oracle did not conclude on it.
    judged = max((n for (_, status), n in tally.oracles.items() if status == Verdict.INCONCLUSIVE), default=0)
    # A refused case that no oracle judged is counted as refused already, under a threshold of its own.
    if judged or inconclusive > tally.refused:
        why = _top_reason(tally)
        count = max(inconclusive, judged)
        text = f"{count} of {n} cases are inconclusive" + (f" ({why})" if why else "")
        if why and loaded:  # it holds of a load run as a whole, and of none of its exchanges
            text = why.partition(": ")[2]
        out.append((Verdict.INCONCLUSIVE, text))
    if n and not any(tally.able.values()) and not out:
        out.append((Verdict.INCONCLUSIVE, "no oracle concluded on any case"))
    return out


def _top_reason(tally: Tally) -> str:
    """The commonest reason of what could not conclude; why an oracle did not apply elsewhere is no reason."""
    ranked = _ranked((key, count) for key, count in tally.reasons.items() if key[2] == Verdict.INCONCLUSIVE)
    return f"{ranked[0][0][0]}: {ranked[0][0][1]}" if ranked else ""


def _oracles(tally: Tally) -> list[dict[str, Any]]:
    out = []
    for name in sorted({oracle for oracle, _ in tally.oracles}):
        said: Counter[str] = Counter()
        for (oracle, text, _), count in tally.reasons.items():
            said[text] += count if oracle == name else 0
        reasons = _ranked((+said).items())
        out.append(
            {
                "oracle": name,
                "n": sum(count for (oracle, _), count in tally.able.items() if oracle == name),
                **{str(verdict): tally.oracles[name, str(verdict)] for verdict in Verdict},
                "not_applicable": tally.oracles[name, "not applicable"],
                "reasons": [{"reason": text, "count": count} for text, count in reasons[:_REASONS]],
            }
        )
    return out


def _ranked(pairs: Iterable[tuple[Any, int]]) -> list[tuple[Any, int]]:
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))
