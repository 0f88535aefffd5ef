"""The reference parent/child runtime: the model of how context isolation is done.

Read it in the order in which a task travels:

- a parent hands it over: `parent_task` or `parent_rules` (with `machine`, `retry`, `failures`, `planning`);
- it becomes a brief under a contract: `contract`, `brief`, `tokens`, `window`; `chain` stops circles;
- it crosses and is born: `bridge`, `launch` (or the package `process`), `context`, the single door;
- a child works: `child`, `loops`, `tools` and `fields`; a layer between parent and leaf: `nested`;
- only its result comes up: `result`, `artifacts`; `delegate` joins all of it.

`parts` lists the seams, `wiring` what comes from outside. Beside the way lie `store` (state outside agents,
with `store_memory` and `store_sqlite`), `sharding`, and `hooks` with the package `observe`, which watch and
change nothing. `process`, `observe` and `store_sqlite` are imported by those who use them.
"""

from isolation_kit.runtime.artifacts import ArtifactError, Artifacts
from isolation_kit.runtime.bridge import BridgeError
from isolation_kit.runtime.brief import BriefError, TaskBrief
from isolation_kit.runtime.chain import Chain, Link
from isolation_kit.runtime.child import Child, ChildSpec, WayDown
from isolation_kit.runtime.clock import Clock, SteppedClock, SystemClock
from isolation_kit.runtime.context import build_child_context, task_inputs
from isolation_kit.runtime.contract import Contract, ContractError, declared_fields
from isolation_kit.runtime.delegate import delegate
from isolation_kit.runtime.failures import ErrorClass, Failure
from isolation_kit.runtime.fields import AllowList, Dropped
from isolation_kit.runtime.hooks import Decision, Hooks, NoHooks
from isolation_kit.runtime.launch import Launch, inline
from isolation_kit.runtime.loops import LoopLimits
from isolation_kit.runtime.machine import Machine, State
from isolation_kit.runtime.messages import Message, Model, ModelReply, ModelRequest, ToolCall, ToolSpec
from isolation_kit.runtime.nested import ByTask
from isolation_kit.runtime.parent_rules import Rule, RulesParent, rules_turn
from isolation_kit.runtime.parent_task import TaskParent, task_tool, task_turn
from isolation_kit.runtime.parts import CLEAN, ParentScope, Parts
from isolation_kit.runtime.result import Reason, Status, SubAgentResult
from isolation_kit.runtime.retry import Retries
from isolation_kit.runtime.several import Several
from isolation_kit.runtime.sharding import SHARDS, shard_of
from isolation_kit.runtime.store import StepKey, StepTakenError, Store, StoreError
from isolation_kit.runtime.store_memory import MemoryStore
from isolation_kit.runtime.text import keyed_digest
from isolation_kit.runtime.tokens import TokenCounter, utf8_ceiling
from isolation_kit.runtime.wiring import RunLimits, Runtime

__all__ = [
    "CLEAN",
    "SHARDS",
    "AllowList",
    "ArtifactError",
    "Artifacts",
    "BridgeError",
    "BriefError",
    "ByTask",
    "Chain",
    "Child",
    "ChildSpec",
    "Clock",
    "Contract",
    "ContractError",
    "Decision",
    "Dropped",
    "ErrorClass",
    "Failure",
    "Hooks",
    "Launch",
    "Link",
    "LoopLimits",
    "Machine",
    "MemoryStore",
    "Message",
    "Model",
    "ModelReply",
    "ModelRequest",
    "NoHooks",
    "ParentScope",
    "Parts",
    "Reason",
    "Retries",
    "Rule",
    "RulesParent",
    "RunLimits",
    "Runtime",
    "Several",
    "State",
    "Status",
    "StepKey",
    "StepTakenError",
    "SteppedClock",
    "Store",
    "StoreError",
    "SubAgentResult",
    "SystemClock",
    "TaskBrief",
    "TaskParent",
    "TokenCounter",
    "ToolCall",
    "ToolSpec",
    "WayDown",
    "build_child_context",
    "declared_fields",
    "delegate",
    "inline",
    "keyed_digest",
    "rules_turn",
    "shard_of",
    "task_inputs",
    "task_tool",
    "task_turn",
    "utf8_ceiling",
]
