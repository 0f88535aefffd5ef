"""Small systems under test that every face is shown on: one clean, its leaky twin, and broken ones."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SYSTEMS = """
import gc, logging, os, signal, sys, threading, time, warnings
from isolation_kit import Agent, ModelCall, Tool, Via, target

def offer(name, argument):
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}}
    return {"function": {"name": name, "parameters": parameters}}

AGENTS = {"boss": Agent(children={"aide": Via("hand")}), "aide": Agent(tools=(Tool("lookup"),))}

def make(name, child_sees, before=lambda: None, answer=lambda text: text):
    @target(root="boss", agents=AGENTS)
    async def team(stage):
        lookup = stage.tool("lookup", "aide")

        async def talk(agent, messages, tool, argument, act):
            for _ in range(20):
                call = ModelCall(agent, tuple(messages), (offer(tool, argument),))
                reply = await stage.model(agent).reply(call)
                if not reply.calls:
                    return reply.text
                for use in reply.calls:
                    content = await act(use.arguments.get(argument, ""))
                    messages.append({"role": "tool", "content": content})
            return "gave up"

        async def say(turn):
            before()
            said = [{"role": "user", "content": turn.text}]

            async def hand(task):
                messages = child_sees(task, said)
                return "" if messages is None else await talk("aide", messages, "lookup", "query", lookup)

            return answer(await talk("boss", said, "hand", "task", hand))

        yield say
    team.__name__ = name
    return team

def task_only(task, said):
    return [{"role": "user", "content": task}]

def with_history(task, said):
    return [*said, {"role": "user", "content": task}]

def explode():
    raise RuntimeError("sk-live-secret-in-a-traceback")

def after(calls, act):
    count = [0]
    def before():
        count[0] += 1
        if count[0] > calls:
            act()
    return before

def die():
    if os.environ.get("PYTEST_XDIST_WORKER"):
        os.kill(os.getpid(), signal.SIGKILL)

def interrupt(sent=[]):
    if not sent:
        sent.append(os.kill(os.getpid(), signal.SIGINT))
        time.sleep(0.2)

def noisy():
    print("\\x1b[31mprinted by the target\\x1b[0m")

def loud():
    secret = "sk-live-" + "in-every-stream"
    print(secret), print(secret, file=sys.stderr), warnings.warn(secret), logging.getLogger("x").error(secret)
    def explode():
        raise RuntimeError(secret)
    thread = threading.Thread(target=explode)
    thread.start(), thread.join()
    class Unraisable:
        def __del__(self):
            raise RuntimeError(secret)
    Unraisable()

def patch():
    import json
    json.dumps = json.loads = json.JSONEncoder.encode = lambda *_, **__: "{}"

clean = make("clean", task_only)
leaky = make("leaky", with_history)
raising = make("raising", task_only, before=explode)
missing = make("missing", task_only, before=lambda: {}["customer_id"])
hanging = make("hanging", task_only, before=lambda: time.sleep(30))
childless = make("childless", lambda task, said: None)
garbage = make("garbage", task_only, answer=lambda text: 5)
dying = make("dying", with_history, before=after(400, die))
interrupted = make("interrupted", with_history, before=after(260, interrupt))
leaving = make("leaving", with_history, before=after(20, lambda: os._exit(0)))
loud_clean = make("loud_clean", task_only, before=loud)
loud_leaky = make("loud_leaky", with_history, before=loud)
patching = make("patching", with_history, before=after(20, patch))
talking = make("talking", with_history, before=noisy)

@target(root="boss", agents=AGENTS)
async def yieldless(stage):
    if False:
        yield
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Write an isolation.toml over the named systems into an empty folder and go there.

    Each folder gets a module name of its own, so that no test sees another one's systems.
    """
    module = f"systems_of_{tmp_path.parent.name}_{tmp_path.name}".replace("-", "_")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)

    def write(*names: str, run: str = "cases = 5", more: str = "") -> Path:
        monkeypatch.chdir(tmp_path)
        (tmp_path / f"{module}.py").write_text(SYSTEMS)
        targets = "".join(f'[[target]]\nname = "{name}"\nfactory = "{module}:{name}"\n' for name in names)
        text = f'[run]\nfamilies = ["cross-user"]\n{run}\n{targets}{textwrap.dedent(more)}'
        (tmp_path / "isolation.toml").write_text(text, encoding="utf-8")
        return tmp_path

    yield write
    sys.modules.pop(module, None)
