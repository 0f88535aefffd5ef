"""What to do about a finding: by its kind and direction first, by the class of its datum otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["advice"]

_LOST_DOWN: Mapping[str, Any] = {
    "id": "lost-task",
    "severity": "",
    "title": {"en": "Lost on the way down", "zh": "下行丢失"},
    "symptom": {
        "en": "The child works without an item of its task.",
        "zh": "子代理缺少任务中的某项内容。",
    },
    "cause": {
        "en": "The brief leaves the item out, renames it, or cuts it off.",
        "zh": "任务说明遗漏、改名或截断了该内容。",
    },
    "remedy": {
        "en": "The task's items do not reach the child: compare the brief that you build with the smallest "
        "case.",
        "zh": "任务的内容没有到达子代理：请把构建的任务说明与最小案例对照。",
    },
}
_LOST_UP: Mapping[str, Any] = {
    "id": "lost-answer",
    "severity": "",
    "title": {"en": "Lost on the way back", "zh": "上行丢失"},
    "symptom": {
        "en": "The parent goes on without what the child found.",
        "zh": "父代理没有得到子代理的结果。",
    },
    "cause": {
        "en": "The result is dropped, replaced, cut off, or read from another field.",
        "zh": "结果被丢弃、替换、截断，或从别的字段读取。",
    },
    "remedy": {
        "en": "The child's answer does not come back: compare what the parent takes from the result with the "
        "smallest case.",
        "zh": "子代理的回答没有返回：请把父代理从结果中取用的内容与最小案例对照。",
    },
}
_SIDEWAYS: Mapping[str, Any] = {
    "id": "between-siblings",
    "severity": "",
    "title": {"en": "Data of another delegation", "zh": "其他委派的数据"},
    "symptom": {
        "en": "A child sees the task or the answer of another child of the same user.",
        "zh": "子代理看到同一用户另一个子代理的任务或回答。",
    },
    "cause": {
        "en": "Children share a context, a message list, a cache or a result store.",
        "zh": "多个子代理共用上下文、消息列表、缓存或结果存储。",
    },
    "remedy": {
        "en": "Give each delegation its own context; do not share results between children.",
        "zh": "为每次委派建立独立的上下文；不要在子代理之间共享结果。",
    },
}


def advice(row: Mapping[str, Any], classes: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Title, symptom, cause and remedy for one fingerprint, or None if nothing is known.

    A class tells what kind of datum it is, hence how to keep it away: no help where the datum is missing,
    or where it is wrong only because another child of the same user owns it.
    """
    if row["kind"] == "LOSS":
        return _LOST_DOWN if row["channel"].startswith("child.") else _LOST_UP
    if row["direction"] == "sideways":
        return _SIDEWAYS
    found: Mapping[str, Any] | None = classes.get(row["class"])
    return found
