"""The default counter beside real tokenizers: never less, and more by what the table says.

Needs `bpe-openai`, which is in the extra `dev`; the vocabularies come with it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from token_samples import SAMPLES

from isolation_kit.runtime.tokens import OVER_ESTIMATE, cut_to_tokens, utf8_ceiling

bpe = pytest.importorskip(
    "bpe_openai", reason="bpe-openai is not installed: pip install 'isolation-kit[dev]'"
)

Real = Callable[[str], int]

# Blocks whose characters cost most, beside what Hypothesis draws from all of Unicode.
dear = st.one_of(
    st.characters(min_codepoint=0x1100, max_codepoint=0x11FF),
    st.characters(min_codepoint=0x3400, max_codepoint=0x4DBF),
    st.characters(min_codepoint=0x12000, max_codepoint=0x123FF),
    st.characters(min_codepoint=0x1F300, max_codepoint=0x1FAFF),
    st.characters(min_codepoint=0x20000, max_codepoint=0x2A6DF),
    st.characters(min_codepoint=0xE0000, max_codepoint=0xE007F),
)
texts = st.text(st.characters(exclude_categories=["Cs"]) | dear, max_size=200)


@pytest.fixture(params=["o200k_base", "cl100k_base"], scope="module")
def real(request: pytest.FixtureRequest) -> Real:
    """A real tokenizer's count, special tokens read as plain text."""
    encoding = bpe.get_encoding(request.param)
    return lambda text: len(encoding.encode_ordinary(text))


@settings(deadline=None)
@given(text=texts)
def test_the_estimate_is_never_too_low(real: Real, text: str) -> None:
    """Whatever the script."""
    assert utf8_ceiling(text) >= real(text)


@settings(deadline=None)
@given(text=texts, limit=st.integers(24, 200))
def test_a_cut_text_fits_in_real_tokens(real: Real, text: str, limit: int) -> None:
    """The limit holds for the model, not only for the estimate."""
    assert real(cut_to_tokens(text, limit)) <= limit


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_table_of_over_estimates_is_measured(kind: str) -> None:
    """What the runtime states about its counter is what comes out here."""
    encoding = bpe.get_encoding("o200k_base")
    ratio = utf8_ceiling(SAMPLES[kind]) / len(encoding.encode_ordinary(SAMPLES[kind]))
    assert ratio == pytest.approx(OVER_ESTIMATE[kind], abs=0.051)


def test_the_table_names_every_sample() -> None:
    """No figure without a text behind it."""
    assert OVER_ESTIMATE.keys() == SAMPLES.keys()


def test_the_articles_rule_would_be_too_low(real: Real) -> None:
    """Characters x 1.3 holds for escaped JSON; raw cuneiform, jamo and rare Chinese break it."""
    broken = [real(SAMPLES[kind]) / len(SAMPLES[kind]) for kind in ("rare chinese", "jamo")]
    assert all(tokens > 2 for tokens in [*broken, real("\U00012000" * 9) / 9])
    assert utf8_ceiling("\U00012000") == 4
