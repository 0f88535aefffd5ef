"""The detector tests itself: a token that is no case's, in the ways in which others hide one."""

from __future__ import annotations

import base64
import codecs
import gzip
import html
from collections.abc import Callable, Mapping

from isolation_kit.canary import Mint
from isolation_kit.detect import Pool, scan
from isolation_kit.scenario import Place

__all__ = ["missed"]

_WAYS: Mapping[str, Callable[[str], bytes]] = {
    "verbatim": str.encode,
    "upper case": lambda text: text.upper().encode(),
    "base64": lambda text: base64.b64encode(f"note {text}".encode()),
    "base32": lambda text: base64.b32encode(f"note {text}".encode()),
    "hex": lambda text: text.encode().hex().encode(),
    "percent": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()).encode(),
    "json escapes": lambda text: "".join(f"\\u{ord(char):04x}" for char in text).encode(),
    "html entities": lambda text: "".join(f"&#{ord(char)};" for char in text).encode(),
    "html text": lambda text: html.escape(f'<b title="{text}">').encode(),
    "reversed": lambda text: text[::-1].encode(),
    "rot13": lambda text: codecs.encode(text, "rot13").encode(),
    "dashes": lambda text: "-".join(text).encode(),
    "full width": lambda text: "".join(chr(ord(char) + 0xFEE0) for char in text).encode(),
    "gzip in base64": lambda text: base64.b64encode(gzip.compress(f"note {text}".encode(), mtime=0)),
}


def missed(seed: int) -> tuple[str, ...]:
    """The ways in which the detector does not find a probe of this run's kind; none, unless it is broken."""
    mint = Mint(seed)
    token = mint.mint("self-test", Place("x.probe")).token
    pool = Pool(mint.prefix)
    pool.add(token)
    return tuple(
        name
        for name, hide in _WAYS.items()
        if not any(hit.token == token for hit in scan(b"see " + hide(token) + b" here", pool).hits)
    )
