"""What a failed delegation means to the parent: a class, one known code, and fixed words for the user.

Article 003 (4.4) hands the parent an error text and `agent_debug_info`. A child writes both, so both are ways
around its contract: into the planning context, and through the parent to the user. Here the parent takes from
a failure one code of its own list (at most 5 bits), and every word that it says about it is its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from isolation_kit.runtime.result import Status, SubAgentResult

__all__ = [
    "UNCLASSIFIED",
    "ErrorClass",
    "Failure",
    "Language",
    "failure_of",
    "in_language",
    "reported",
    "told",
]

UNCLASSIFIED = "unclassified"


class ErrorClass(StrEnum):
    """What may help against an error.

    `transient`: the same again, later. `permanent`: nothing but another request. `replaceable`: another
    model, or the input in parts. `review`: a person should look. `unclassified`: no known code.
    """

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    REPLACEABLE = "replaceable"
    REVIEW = "review"
    UNCLASSIFIED = UNCLASSIFIED


class Language(StrEnum):
    """In which language a parent speaks to its user."""

    ENGLISH = "en"
    CHINESE = "zh"


_CODES: Mapping[ErrorClass, tuple[str, ...]] = {
    ErrorClass.TRANSIENT: ("model_failed", "timeout", "child_crashed", "pipe_closed"),
    ErrorClass.PERMANENT: (
        "program_error",
        "brief_refused",
        "contract_refused",
        "request_refused",
        "result_refused",
        "call_repeated",
        "too_deep",
        "bad_frame",
    ),
    ErrorClass.REPLACEABLE: (
        "killed",
        "memory_limit",
        "output_limit",
        "window_full",
        "too_large",
        "output_refused",
        "not_utf8",
    ),
    ErrorClass.REVIEW: ("loop_detected", "round_limit"),
}
_CLASSES: Mapping[str, ErrorClass] = {code: kind for kind, codes in _CODES.items() for code in codes}

_TEXTS: Mapping[str, tuple[str, str]] = {
    ErrorClass.TRANSIENT: ("The system is busy. Please try again later.", "系统繁忙，请稍后再试。"),
    ErrorClass.PERMANENT: ("This request could not be carried out.", "无法执行该请求。"),
    ErrorClass.REPLACEABLE: (
        "This was too much for one step. Please ask for less at once.",
        "内容过多，请缩小查询范围。",
    ),
    ErrorClass.REVIEW: ("This could not be settled and needs a person.", "未能得出结果，需要人工处理。"),
    ErrorClass.UNCLASSIFIED: ("Something went wrong. Please try again later.", "处理出错，请稍后再试。"),
    "brief_refused": (
        "The request is malformed. Please check the reference in it.",
        "请求格式有误，请检查编号。",
    ),
    "no_rule": (
        "No rule fits this. Please name what you ask for, and its reference.",
        "没有适用的规则：请写明要查询的账单编号。",
    ),
    "too_many": ("These are too many tasks at once. Please ask for fewer.", "一次的任务太多：请分几次提出。"),
    "ambiguous": (
        "More than one rule fits this. Please say it in another way.",
        "适用的规则不唯一：请换一种说法。",
    ),
    "not_stored": (
        "The result could not be stored, so this was not done. Please try again later.",
        "结果未能保存，本次请求没有完成，请稍后再试。",
    ),
    "no_step": (
        "Nothing was asked about this before. Please name the reference.",
        "没有找到此前的查询：请写明账单编号。",
    ),
}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a delegation brought nothing: a class, and a code of `Reason` or `unclassified`."""

    kind: ErrorClass
    reason: str


def failure_of(result: SubAgentResult) -> Failure | None:
    """The failure that `result` stands for, or None. Of its errors only the first known code is read."""
    if result.status is Status.SUCCEEDED:
        return None
    known = next((error for error in result.errors if error in _CLASSES), UNCLASSIFIED)
    return Failure(_CLASSES.get(known, ErrorClass.UNCLASSIFIED), str(known))


def told(failure: Failure, language: Language) -> str:
    """What the user hears of `failure`: a fixed sentence, whatever the child said."""
    return in_language(failure.reason if failure.reason in _TEXTS else failure.kind, language)


def in_language(code: str, language: Language) -> str:
    """The fixed sentence for `code`: a class of errors, or a reason why a turn brought nothing."""
    english, chinese = _TEXTS[code]
    return chinese if language is Language.CHINESE else english


def reported(result: SubAgentResult) -> dict[str, Any]:
    """What a planning model gets of a result: of a success what was declared, of a failure why, in codes.

    What a child had in hand when it failed stays below; a summary goes up if a person is to look at it.
    """
    failure = failure_of(result)
    said: dict[str, Any] = {}
    if failure is None or result.status is Status.NEEDS_REVIEW:
        said = {"summary": result.summary, "artifacts": list(result.artifacts)}
    if failure is None:
        said["key_outputs"] = result.key_outputs
    else:
        said |= {"class": str(failure.kind), "reason": failure.reason}
    return {"status": str(result.status)} | {name: value for name, value in said.items() if value}
