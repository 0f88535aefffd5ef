"""The stage: puppets, taps and the runner that records what reached every agent."""

from isolation_kit.stage.puppet import ModelCall, ModelReply, ToolUse
from isolation_kit.stage.recorder import Ledger, Recorder
from isolation_kit.stage.run import Runner
from isolation_kit.stage.stage import PuppetModel, Stage

__all__ = ["Ledger", "ModelCall", "ModelReply", "PuppetModel", "Recorder", "Runner", "Stage", "ToolUse"]
