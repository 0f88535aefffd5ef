from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TaskRequest(_message.Message):
    __slots__ = ("contract_major", "contract_minor", "executor", "timeout_ms", "brief")
    CONTRACT_MAJOR_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_MINOR_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    BRIEF_FIELD_NUMBER: _ClassVar[int]
    contract_major: int
    contract_minor: int
    executor: str
    timeout_ms: int
    brief: TaskBrief
    def __init__(self, contract_major: _Optional[int] = ..., contract_minor: _Optional[int] = ..., executor: _Optional[str] = ..., timeout_ms: _Optional[int] = ..., brief: _Optional[_Union[TaskBrief, _Mapping]] = ...) -> None: ...

class TaskBrief(_message.Message):
    __slots__ = ("task_id", "goal", "inputs", "allowed_tools", "forbidden_tools", "acceptance", "constraints", "global_context")
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    FORBIDDEN_TOOLS_FIELD_NUMBER: _ClassVar[int]
    ACCEPTANCE_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    GLOBAL_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    goal: str
    inputs: bytes
    allowed_tools: _containers.RepeatedScalarFieldContainer[str]
    forbidden_tools: _containers.RepeatedScalarFieldContainer[str]
    acceptance: _containers.RepeatedScalarFieldContainer[str]
    constraints: _containers.RepeatedScalarFieldContainer[str]
    global_context: str
    def __init__(self, task_id: _Optional[str] = ..., goal: _Optional[str] = ..., inputs: _Optional[bytes] = ..., allowed_tools: _Optional[_Iterable[str]] = ..., forbidden_tools: _Optional[_Iterable[str]] = ..., acceptance: _Optional[_Iterable[str]] = ..., constraints: _Optional[_Iterable[str]] = ..., global_context: _Optional[str] = ...) -> None: ...

class TaskResponse(_message.Message):
    __slots__ = ("contract_major", "contract_minor", "task_id", "status", "key_outputs", "summary", "artifacts", "errors", "extensions")
    CONTRACT_MAJOR_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_MINOR_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    KEY_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    ARTIFACTS_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    EXTENSIONS_FIELD_NUMBER: _ClassVar[int]
    contract_major: int
    contract_minor: int
    task_id: str
    status: str
    key_outputs: bytes
    summary: str
    artifacts: _containers.RepeatedScalarFieldContainer[str]
    errors: _containers.RepeatedScalarFieldContainer[str]
    extensions: bytes
    def __init__(self, contract_major: _Optional[int] = ..., contract_minor: _Optional[int] = ..., task_id: _Optional[str] = ..., status: _Optional[str] = ..., key_outputs: _Optional[bytes] = ..., summary: _Optional[str] = ..., artifacts: _Optional[_Iterable[str]] = ..., errors: _Optional[_Iterable[str]] = ..., extensions: _Optional[bytes] = ...) -> None: ...
