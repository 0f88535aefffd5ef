"""The reference parent/child runtime: the model of how context isolation is done.

Begin with three files, which are the map of all others: `messages`, what models and tools exchange; `parts`,
every place where isolation is made or lost; `delegate`, one delegation from brief to result. Then follow a
task:

- a parent hands it over: `parent_task` or `parent_rules` (with `routing`, `machine`, `attempts`, `retry`,
  `failures`, `planning`);
- it becomes a brief under a contract: `contract`, `brief`, `text`, `tokens`, `window`; `chain` stops circles;
- it crosses and is born: `bridge` and its bytes in `wire`, `launch` (or the package `process`), `context`,
  the single door;
- a child works: `child`, `loops`, `tools`, `fields` and the `rules` of their schemas, `faults`; a layer
  between parent and leaf: `nested`;
- only its result comes up: `result`, `artifacts`.

`wiring` says what comes from outside. Beside the way lie `store` (state outside agents, with `store_memory`
and `store_sqlite`), `sharding`, `clock`, and those that watch and change nothing: `log`, `hooks`, `several`
and the package `observe`, which begins with a worked example. `process`, `observe` and `store_sqlite` are
imported by those who use them. ARCHITECTURE.md has the titles of what docstrings call article 000 to 003.
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
from isolation_kit.runtime.failures import ErrorClass, Failure, Language
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
    "Language",
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
