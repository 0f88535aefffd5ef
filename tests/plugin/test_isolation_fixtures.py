"""The marker and the fixtures, beside a user's own fixtures, sync and async."""

from __future__ import annotations

import pytest

TARGET = """
    import pytest
    from isolation_kit import Agent, ModelCall, Scenario, Tool, Via, target

    def offer(name, argument):
        parameters = {"type": "object", "properties": {argument: {"type": "string"}}}
        return {"function": {"name": name, "parameters": parameters}}

    @pytest.fixture(params=["task only", "history"])
    def briefing(request):
        if request.param == "history":
            return lambda task, said: [*said, {"role": "user", "content": task}]
        return lambda task, said: [{"role": "user", "content": task}]

    @pytest.mark.isolation
    def test_team(isolation_target, briefing):
        agents = {"boss": Agent(children={"aide": Via("hand")}), "aide": Agent(tools=(Tool("lookup"),))}

        @target(root="boss", agents=agents)
        async def team(stage):
            async def talk(agent, messages, tool, argument, act):
                while True:
                    call = ModelCall(agent, tuple(messages), (offer(tool, argument),))
                    reply = await stage.model(agent).reply(call)
                    if not reply.calls:
                        return reply.text
                    for use in reply.calls:
                        messages.append({"role": "tool", "content": await act(use.arguments[argument])})

            async def say(turn):
                said = [{"role": "user", "content": turn.text}]
                async def hand(task):
                    lookup = stage.tool("lookup", "aide")
                    return await talk("aide", briefing(task, said), "lookup", "query", lookup)
                return await talk("boss", said, "hand", "task", hand)

            yield say

        isolation_target(team).assert_isolated()
"""


def test_isolation_target_with_the_users_fixture(inner, pytester: pytest.Pytester):
    """A target built in the test, over the user's own fixture: the clean one passes, the leaky one fails."""
    pytester.makepyfile(TARGET)
    result = inner("-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*test_team?task only? PASSED*", "*test_team?history? FAILED*"])
    result.stdout.fnmatch_lines(
        ["*LEAK: * fingerprint*", "*user.current -> child.request (down) at boss>aide*"]
    )


def test_isolation_target_runs_cases_and_families(inner, pytester: pytest.Pytester):
    """Single cases, the sweep and a family, all judged together."""
    pytester.makepyfile(
        """
        from isolation_kit import Answer, Delegate, Scenario, TurnPlan
        from isolation_kit.targets.reference import reference_task

        def test_reference(isolation_target):
            task = "look up {{canary:task.goal/0/-1/0/0}}"
            answer = Answer("it is {{canary:child.answer/0/-1/0/0}}")
            turn = TurnPlan(0, "my bill, please", (Delegate(0, task, (answer,)), Answer("done")))
            under_test = isolation_target(reference_task)
            assert under_test.run(Scenario("mine", "one", 7, (turn,))).verdict == "PASS"
            assert under_test.sweep().unreached == ()
            assert under_test.census("cross-user").tally.n == 3
            under_test.assert_isolated()
            assert [outcome.tally.n for outcome in under_test.outcomes][::2] == [1, 3]
        """
    )
    (pytester.path / "isolation.toml").write_text(
        '[run]\ncases = 3\n[[target]]\nname = "a"\nfactory = "b:c"\n'
    )
    inner().assert_outcomes(passed=1)


PROBE = """
    import asyncio
    import pytest

    async def ask(child, history, task, leak):
        history.append(task)
        await asyncio.sleep(0)
        child(history if leak else [task])

    @pytest.mark.isolation
    @pytest.mark.parametrize("leak", [False, True], ids=["clean", "leaky"])
    def test_my_async_system(isolation_probe, leak):
        async def scenario():
            history = [f"plan: {isolation_probe.plant('parent.text')}"]
            seen = lambda messages: isolation_probe.record("child.request", "writer", messages)
            await ask(seen, history, f"write about {isolation_probe.plant('task.goal')}", leak)
        asyncio.run(scenario())
        isolation_probe.assert_isolated()

    def test_two_users(isolation_probe):
        for owner in (0, 1):
            token = isolation_probe.plant("user.current", user=owner)
            isolation_probe.record("parent.request", "boss", token, user=0)
        assert [str(finding.fingerprint.direction) for finding in isolation_probe.findings()] == ["across"]

    def test_nothing_planted(isolation_probe):
        isolation_probe.record("child.request", "writer", "hello")
        isolation_probe.assert_isolated()

    def test_nothing_recorded(isolation_probe):
        isolation_probe.plant("parent.text")
        isolation_probe.assert_isolated()
"""


def test_isolation_probe_in_the_tests_own_loop(inner, pytester: pytest.Pytester):
    """A clean async system passes, its leaky twin fails, another user's datum is seen, nothing is no pass."""
    pytester.makepyfile(PROBE)
    result = inner("-v")
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(["*test_my_async_system?clean? PASSED*", "*?leaky? FAILED*"])
    result.stdout.fnmatch_lines(["*LEAK: 1 fingerprint*", "*parent.text -> child.request (down) at *writer*"])
    result.stdout.fnmatch_lines(["*INCONCLUSIVE: nothing was planted*isolation_probe.plant*"])
    result.stdout.fnmatch_lines(["*INCONCLUSIVE: nothing was recorded*isolation_probe.record*"])


def test_isolation_probe_obeys_the_users_exceptions(inner, pytester: pytest.Pytester):
    """An `[[allow]]` entry of isolation.toml opens what it names for hand-written tests too."""
    pytester.makepyfile(
        """
        def test_probe(isolation_probe):
            isolation_probe.record("child.request", "writer", isolation_probe.plant("parent.text"))
            isolation_probe.assert_isolated()
        """
    )
    target = '[[target]]\nname = "a"\nfactory = "b:c"\n'
    allow = 'slot = "parent.text"\nchannel = "child.request"\nchild = "writer"\nreason = "r"\nowner = "o"\n'
    (pytester.path / "isolation.toml").write_text(target)
    inner().assert_outcomes(failed=1)
    (pytester.path / "isolation.toml").write_text(f"{target}[[allow]]\n{allow}")
    inner().assert_outcomes(passed=1)


def test_the_marker_is_known(inner, pytester: pytest.Pytester):
    """`--strict-markers` accepts it, with and without the option."""
    pytester.makepyfile("import pytest\n@pytest.mark.isolation\ndef test_mine():\n    pass\n")
    inner("--strict-markers").assert_outcomes(passed=1)
