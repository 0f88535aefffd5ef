"""Hypothesis strategies for the kit's nouns, shared by the test files."""

from __future__ import annotations

from hypothesis import strategies as st

from isolation_kit.finding import Direction, Finding, Fingerprint, Judgement, Mode, Verdict
from isolation_kit.fingerprints import CaseOutcome, Tally
from isolation_kit.scenario import (
    Act,
    Answer,
    Break,
    Breaking,
    Delegate,
    Limits,
    Order,
    Place,
    Say,
    Scenario,
    Schedule,
    Slot,
    Temperament,
    TurnPlan,
    UseTool,
)
from isolation_kit.trace import (
    Channel,
    Event,
    Handover,
    Life,
    Lifecycle,
    Planted,
    Pollution,
    Sighting,
    Trace,
)

SLOTS = (*(str(slot) for slot in Slot), "x.session_cache", "x.a.b_2")
CHANNELS = tuple(str(channel) for channel in Channel)

slots = st.sampled_from(SLOTS)
small = st.integers(-1, 5)
counts = st.integers(0, 9)
# Any character a script may hold, lone surrogates included: stored cases must survive them.
texts = st.text(st.characters(codec=None), max_size=12)
names = st.text("abcxyz_1", min_size=1, max_size=5)

places = st.builds(Place, slots, small, small, small, counts)


@st.composite
def carriers(draw: st.DrawFn) -> str:
    """A text with none to three placeholders in it."""
    parts = [draw(texts)]
    for place in draw(st.lists(places, max_size=3)):
        parts += [place.placeholder, draw(texts)]
    return "".join(parts)


_replies = st.one_of(
    carriers(),
    st.builds('{{"note": "{}", "trace": ["x", {{"k": 1}}]}}'.format, places.map(lambda p: p.placeholder)),
)
_plain = st.one_of(
    st.builds(Say, carriers()),
    st.builds(Answer, carriers()),
    st.builds(UseTool, counts, carriers(), _replies),
)


def _delegates(inner: st.SearchStrategy[Act]) -> st.SearchStrategy[Act]:
    acts = st.lists(inner, max_size=2).map(tuple)
    return st.builds(Delegate, counts, carriers(), acts, carriers(), st.booleans())


acts: st.SearchStrategy[Act] = st.one_of(_plain, _delegates(st.one_of(_plain, _delegates(_plain))))
turns = st.builds(
    TurnPlan,
    st.integers(0, 2),
    carriers(),
    st.lists(acts, max_size=3).map(tuple),
    names,
    st.integers(-1, 1),
)
temperaments = st.sampled_from(Temperament)
limits = st.builds(Limits, counts, counts, counts, counts)
variants = st.dictionaries(slots, st.integers(1, 3), max_size=2)


schedules = st.builds(
    Schedule,
    st.sampled_from(Order),
    st.lists(st.builds(Break, st.sampled_from(Breaking), st.just(0), counts, names), max_size=2).map(tuple),
    st.integers(-1, 2),
)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Any case of one to three turns."""
    scenario = Scenario(
        family=draw(names),
        attack=draw(names),
        seed=draw(st.integers(0, 1 << 48)),
        turns=tuple(draw(st.lists(turns, min_size=1, max_size=3))),
        users=("u_a", "u_b", draw(texts)),
        subjects=("张伟", "李娜"),
        root=draw(temperaments),
        child=draw(temperaments),
        concurrent=draw(st.booleans()),
        limits=draw(limits),
        schedule=draw(schedules),
    )
    return scenario.with_variant(draw(variants))


channels = st.sampled_from(Channel)
_place_tuples = st.lists(places, max_size=2).map(tuple)
events = st.builds(
    Event, counts, channels, names, st.binary(max_size=20), small, small, texts, small, small, names
)
traces = st.builds(
    Trace,
    case=names,
    events=st.lists(events, max_size=3).map(tuple),
    lives=st.lists(
        st.builds(Life, counts, st.sampled_from(Lifecycle), names, small, small, texts), max_size=2
    ).map(tuple),
    planted=st.lists(st.builds(Planted, counts, places, names, names, small, names), max_size=2).map(tuple),
    sightings=st.lists(
        st.builds(Sighting, counts, places, names, counts, names, names, st.booleans(), names), max_size=2
    ).map(tuple),
    handovers=st.lists(
        st.builds(Handover, names, small, small, _place_tuples, _place_tuples, st.booleans()), max_size=2
    ).map(tuple),
    pollution=st.lists(st.builds(Pollution, names, texts, names, counts, names, names), max_size=2).map(
        tuple
    ),
    task_responses=counts,
    answered=st.lists(st.booleans(), max_size=3).map(tuple),
    refused=texts,
    error=texts,
    problems=st.lists(texts, max_size=2).map(tuple),
    unscanned=counts,
)

fingerprints = st.builds(
    Fingerprint,
    st.sampled_from(("one", "two")),
    st.sampled_from(("p>a", "p>b")),
    st.sampled_from(("user.current", "field.debug")),
    st.sampled_from(("child.request", "log")),
    st.sampled_from([str(direction) for direction in Direction]),
)
findings = st.builds(
    Finding,
    fingerprints,
    st.sampled_from(("canary", "contract", "controls")),
    kind=st.sampled_from((Verdict.LEAK, Verdict.LOSS)),
    mode=st.sampled_from(Mode),
    tier=st.sampled_from(("confirmed", "weak")),
    form=st.sampled_from(("verbatim", "base64")),
    path=texts,
    source_tool=st.sampled_from(("", "lookup")),
    turn=small,
    user=small,
    instance=small,
    digest=names,
    count=st.integers(1, 4),
    allowed_by=st.sampled_from(("", "declared")),
)


@st.composite
def outcomes(draw: st.DrawFn, block: int = 0, index: int = 0) -> CaseOutcome:
    """What came out of one case, with consistent modes."""
    mode = draw(st.sampled_from(Mode))
    judgements = []
    for oracle in draw(st.lists(st.sampled_from(("canary", "contract", "controls")), unique=True)):
        found = draw(st.lists(findings, max_size=3))
        judgements.append(
            Judgement(
                oracle,
                draw(st.sampled_from(Verdict)),
                tuple(_with(finding, oracle, mode) for finding in found),
                draw(st.sampled_from(("", "a reason"))),
                draw(st.booleans()),
            )
        )
    return CaseOutcome(
        block=block,
        index=index,
        digest=f"{block:08x}{index:08x}",
        mode=mode,
        judgements=tuple(judgements),
        executions=draw(st.integers(1, 5)),
        refused=draw(st.booleans()),
        pollution=tuple(draw(st.lists(st.tuples(names, names), max_size=2))),
        task_responses=draw(counts),
        planted=frozenset(draw(st.lists(slots, max_size=3))),
        channels=frozenset(draw(st.lists(st.tuples(names, st.sampled_from(CHANNELS)), max_size=3))),
    )


def _with(finding: Finding, oracle: str, mode: Mode) -> Finding:
    return Finding(finding.fingerprint, oracle, finding.kind, mode, finding.tier, finding.form)


@st.composite
def tallies(draw: st.DrawFn, block: int = 0) -> Tally:
    """The counters of none to four cases of one block."""
    tally = Tally()
    for index in range(draw(st.integers(0, 4))):
        tally.add(draw(outcomes(block, index)))
    return tally
