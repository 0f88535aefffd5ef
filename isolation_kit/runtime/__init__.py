"""The reference parent/child runtime: the model of how context isolation is done.

Read it in the order in which a task travels: `parent_task` or `parent_rules`, `brief`, `bridge`, `context`,
`child`, `tools` and `fields`, `result`, and `delegate`, which joins them. `parts` lists the seams.
"""

from isolation_kit.runtime.bridge import BridgeError
from isolation_kit.runtime.brief import BriefError, TaskBrief
from isolation_kit.runtime.child import Child, ChildSpec
from isolation_kit.runtime.context import build_child_context
from isolation_kit.runtime.delegate import delegate
from isolation_kit.runtime.fields import AllowList, Dropped
from isolation_kit.runtime.hooks import Hooks, NoHooks
from isolation_kit.runtime.messages import Message, Model, ModelReply, ModelRequest, ToolCall, ToolSpec
from isolation_kit.runtime.parent_rules import Rule, RulesParent, rules_turn
from isolation_kit.runtime.parent_task import TaskParent, task_tool, task_turn
from isolation_kit.runtime.parts import CLEAN, ParentScope, Parts
from isolation_kit.runtime.result import Status, SubAgentResult
from isolation_kit.runtime.store import StepKey, StepTakenError, Store, StoreError
from isolation_kit.runtime.store_memory import MemoryStore
from isolation_kit.runtime.text import keyed_digest
from isolation_kit.runtime.wiring import RunLimits, Runtime

__all__ = [
    "CLEAN",
    "AllowList",
    "BridgeError",
    "BriefError",
    "Child",
    "ChildSpec",
    "Dropped",
    "Hooks",
    "MemoryStore",
    "Message",
    "Model",
    "ModelReply",
    "ModelRequest",
    "NoHooks",
    "ParentScope",
    "Parts",
    "Rule",
    "RulesParent",
    "RunLimits",
    "Runtime",
    "Status",
    "StepKey",
    "StepTakenError",
    "Store",
    "StoreError",
    "SubAgentResult",
    "TaskBrief",
    "TaskParent",
    "ToolCall",
    "ToolSpec",
    "build_child_context",
    "delegate",
    "keyed_digest",
    "rules_turn",
    "task_tool",
    "task_turn",
]
