"""Defects of state that outlives a child, or is shared by users. Each case makes its own shared object."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from isolation_kit.mutants.catalogue import leaky
from isolation_kit.runtime import CLEAN, Child, ChildSpec, Message, ParentScope, Parts
from isolation_kit.runtime.parts import Step

__all__ = ["m07_shared_default", "m35_cache_without_user", "m42_pooled_child", "m64_last_subject"]


def _shared_default() -> Parts:
    def with_default(spec: ChildSpec, memory: list[Message] = []) -> Child:  # noqa: B006  the seeded defect
        return Child(spec, memory)

    return replace(CLEAN, new_child=with_default)


def _cache_without_user() -> Parts:
    def by_question(scope: ParentScope, rule: str, subject: str, inputs: Mapping[str, str]) -> Hashable:
        return rule, subject

    return replace(CLEAN, response_key=by_question)


def _pooled_child() -> Parts:
    pool: dict[str, Child] = {}

    def from_pool(spec: ChildSpec) -> Child:
        return pool.setdefault(spec.name, Child(spec))

    return replace(CLEAN, new_child=from_pool)


def _last_subject() -> Parts:
    def newest(steps: tuple[Step, ...], subject: str) -> Step | None:
        return steps[-1] if steps else None

    return replace(CLEAN, resolve_subject=newest)


m07_shared_default = leaky("task", "m07_shared_default", _shared_default)
m35_cache_without_user = leaky("rules", "m35_cache_without_user", _cache_without_user)
m42_pooled_child = leaky("rules", "m42_pooled_child", _pooled_child)
m64_last_subject = leaky("rules", "m64_last_subject", _last_subject)
