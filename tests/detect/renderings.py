"""Renderings of one token that a scan must see: name -> function from text to bytes."""

from __future__ import annotations

import base64
import bz2
import gzip
import hashlib
import html
import json
import lzma
import random
import textwrap
import zlib
from collections.abc import Callable
from urllib.parse import quote

Render = Callable[[str], bytes]
_NOISE = random.Random(5).randbytes(3000).hex()

_HOMOGLYPHS = str.maketrans("acehjkmpxy", "асеһјкмрху")
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"


def _b64(data: bytes | str) -> bytes:
    return base64.b64encode(data.encode() if isinstance(data, str) else data)


def _join(token: str, between: str) -> bytes:
    return between.join(token).encode()


def _caesar(token: str) -> bytes:
    return "".join(chr((ord(c) - 84) % 26 + 97) if c.isalpha() else c for c in token).encode()


def _mixed(token: str) -> bytes:
    return "".join(f"\\u{ord(c):04x}" if i % 3 == 0 else c for i, c in enumerate(token)).encode()


def _math(token: str) -> bytes:
    return "".join(
        chr(0x1D7CE + int(c)) if c.isdigit() else chr(0x1D41A + ord(c) - 97) for c in token
    ).encode()


def _selectors(token: str) -> bytes:
    return ("x" + "".join(chr(0xE0100 + ord(c) - 16) for c in token)).encode()


RENDERINGS: dict[str, Render] = {
    "verbatim": str.encode,
    "embedded in a word": lambda t: f"id{t}x".encode(),
    "beside CJK": lambda t: f"令牌{t}完".encode(),
    "upper": lambda t: t.upper().encode(),
    "mixed case": lambda t: "".join(c.upper() if i % 2 else c for i, c in enumerate(t)).encode(),
    "spaces": lambda t: _join(t, " "),
    "dashes": lambda t: _join(t, "-"),
    "dots": lambda t: _join(t, "."),
    "underscores": lambda t: _join(t, "_"),
    "line breaks": lambda t: _join(t, "\n"),
    "escaped line breaks": lambda t: _join(t, "\\n"),
    "nested escaped line breaks": lambda t: _join(t, "\\\\n"),
    "escaped tabs": lambda t: _join(t, "\\t"),
    "groups of four": lambda t: "-".join(textwrap.wrap(t, 4)).encode(),
    "markdown": lambda t: f"**{t[:7]}**`{t[7:12]}`_{t[12:]}_".encode(),
    "string concatenation": lambda t: "+".join(f"'{c}'" for c in t).encode(),
    "JSON array": lambda t: json.dumps(list(t)).encode(),
    "zero-width": lambda t: _join(t, "\u200b"),
    "zero-width in ASCII JSON": lambda t: json.dumps("\u200b".join(t)).encode(),
    "zero-width in JSON in JSON": lambda t: json.dumps(json.dumps("\u200d".join(t))).encode(),
    "bidi": lambda t: f"\u202e{t[:9]}\u202c\u2066{t[9:]}\u2069".encode(),
    "combining": lambda t: _join(t, "\u0336"),
    "soft hyphen": lambda t: _join(t, "\u00ad"),
    "emoji between": lambda t: _join(t, "🙂"),
    "full width": lambda t: "".join(chr(ord(c) + 0xFEE0) for c in t).encode(),
    "mathematical": _math,
    "accents": lambda t: t.replace("e", "é").replace("a", "å").replace("n", "ñ").replace("c", "ç").encode(),
    "homoglyphs": lambda t: t.translate(_HOMOGLYPHS).encode(),
    "homoglyphs in ASCII JSON": lambda t: json.dumps(t.translate(_HOMOGLYPHS)).encode(),
    "digits of Devanagari": lambda t: "".join(chr(0x966 + int(c)) if c.isdigit() else c for c in t).encode(),
    "digits of Thai": lambda t: "".join(chr(0xE50 + int(c)) if c.isdigit() else c for c in t).encode(),
    "superscripts": lambda t: t.translate(str.maketrans("123", "¹²³")).encode(),
    "tags": lambda t: "".join(chr(0xE0000 + ord(c)) for c in t).encode(),
    "variation selectors": _selectors,
    "utf-16-le": lambda t: t.encode("utf-16-le"),
    "utf-16-be": lambda t: t.encode("utf-16-be"),
    "utf-32": lambda t: t.encode("utf-32"),
    "reversed": lambda t: t[::-1].encode(),
    "reversed upper": lambda t: t[::-1].upper().encode(),
    "rot13": _caesar,
    "atbash": lambda t: "".join(chr(219 - ord(c)) if c.isalpha() else c for c in t).encode(),
    "JSON escape": lambda t: "".join(f"\\u{ord(c):04x}" for c in t).encode(),
    "JSON escape, some": _mixed,
    "JSON in JSON": lambda t: json.dumps(json.dumps({"k": _mixed(t).decode()})).encode(),
    "JavaScript braces": lambda t: "".join(f"\\u{{{ord(c):x}}}" for c in t).encode(),
    "python wide escape": lambda t: "".join(f"\\U{ord(c):08x}" for c in t).encode(),
    "backslash x": lambda t: "".join(f"\\x{ord(c):02x}" for c in t).encode(),
    "backslash x, some": lambda t: "".join(
        f"\\x{ord(c):02X}" if i % 2 else c for i, c in enumerate(t)
    ).encode(),
    "octal": lambda t: "".join(f"\\{ord(c):03o}" for c in t).encode(),
    "percent": lambda t: "".join(f"%{ord(c):02X}" for c in t).encode(),
    "percent, some": lambda t: "".join(f"%{ord(c):02x}" if i % 2 else c for i, c in enumerate(t)).encode(),
    "percent, twice": lambda t: "".join(f"%25{ord(c):02x}" if i % 2 else c for i, c in enumerate(t)).encode(),
    "percent, thrice": lambda t: quote(quote("".join(f"%{ord(c):02x}" for c in t))).encode(),
    "percent u": lambda t: "".join(f"%u{ord(c):04x}" for c in t).encode(),
    "HTML decimal": lambda t: "".join(f"&#{ord(c)};" for c in t).encode(),
    "HTML hex": lambda t: "".join(f"&#x{ord(c):X};" for c in t).encode(),
    "HTML, some": lambda t: "".join(f"&#{ord(c)};" if i % 2 else c for i, c in enumerate(t)).encode(),
    "HTML, twice": lambda t: html.escape(
        "".join(f"&#{ord(c)};" if i % 2 else c for i, c in enumerate(t))
    ).encode(),
    "HTML names between": lambda t: "&shy;".join(t).encode(),
    "HTML names without semicolon": lambda t: "&nbsp".join(textwrap.wrap(t, 10)).encode(),
    "base64 of Chinese text": lambda t: _b64(f"这是一个秘密，请勿外传：{_mixed(t).decode()}。谢谢！"),
    "hex of Chinese text": lambda t: f"这是一个秘密，{_mixed(t).decode()}".encode().hex().encode(),
    "quoted-printable": lambda t: "".join(f"={ord(c):02X}" for c in t).encode(),
    "quoted-printable, some": lambda t: "".join(
        f"={ord(c):02X}" if i % 2 else c for i, c in enumerate(t)
    ).encode(),
    "soft line breaks": lambda t: "=\n".join(textwrap.wrap(t, 7)).encode(),
    "base64 in soft line breaks": lambda t: "=\n".join(
        textwrap.wrap(_b64(gzip.compress(t.encode())).decode(), 20)
    ).encode(),
    "character codes": lambda t: ", ".join(str(ord(c)) for c in t).encode(),
    "character codes of capitals": lambda t: ",".join(str(ord(c)) for c in t.upper()).encode(),
    "fromCharCode": lambda t: f"String.fromCharCode({','.join(str(ord(c)) for c in t)})".encode(),
    "chr calls": lambda t: "+".join(f"chr({ord(c)})" for c in t).encode(),
    "CHAR calls": lambda t: "||".join(f"CHAR({ord(c)})" for c in t).encode(),
    "octal list": lambda t: " ".join(f"{ord(c):o}" for c in t).encode(),
    "binary": lambda t: " ".join(f"{ord(c):08b}" for c in t).encode(),
    "hex": lambda t: t.encode().hex().encode(),
    "hex upper": lambda t: t.encode().hex().upper().encode(),
    "hex of capitals": lambda t: t.upper().encode().hex().encode(),
    "hex with spaces": lambda t: t.encode().hex(" ").encode(),
    "hex with colons": lambda t: t.encode().hex(":").upper().encode(),
    "hex list": lambda t: ", ".join(f"0x{ord(c):02x}" for c in t).encode(),
    "hex of utf-16": lambda t: t.encode("utf-16-le").hex().encode(),
    "hex dump lines": lambda t: "\n".join(textwrap.wrap(t.encode().hex(" "), 24)).encode(),
    "hex of gzip": lambda t: gzip.compress(t.encode()).hex().encode(),
    "hex of base64": lambda t: _b64(t).hex().encode(),
    "base64": _b64,
    "base64 shifted by one": lambda t: _b64("x" + t + " and more"),
    "base64 shifted by two": lambda t: _b64("xy" + t + " and more"),
    "base64 without padding": lambda t: _b64(t).rstrip(b"="),
    "base64 url-safe": lambda t: base64.urlsafe_b64encode(f"???>>>{t}~~~".encode()),
    "base64 of bytes": lambda t: _b64(b"\xff\xfe\x00\x81" + t.encode() + b"\x92\x93"),
    "base64 wrapped": lambda t: base64.encodebytes(
        f"The quick brown fox jumps over the lazy dog. {t}".encode() * 2
    ),
    "base64 wrapped narrow": lambda t: "\n".join(textwrap.wrap(_b64(t).decode(), 10)).encode(),
    "base64 in JSON, wrapped": lambda t: json.dumps(
        "\n".join(textwrap.wrap(_b64("pad " * 20 + t).decode(), 64))
    ).encode(),
    "base64 in JSON, slashes": lambda t: (
        json.dumps(_b64(f"???~~~{t} ???" * 2).decode()).replace("/", "\\/").encode()
    ),
    "base64 of capitals": lambda t: _b64(t.upper()),
    "base64 twice": lambda t: _b64(_b64(t)),
    "base64 thrice": lambda t: _b64(_b64(_b64(t))),
    "base64 glued to a word": lambda t: b"payload" + _b64(_b64(f"secret {t} secret")),
    "base64 data URL": lambda t: b"data:text/plain;base64," + _b64(_mixed(t)),
    "base64 of JSON": lambda t: _b64(json.dumps({"k": _mixed(t).decode()})),
    "base64 of utf-16": lambda t: _b64(t.encode("utf-16-le")),
    "base64 of gzip": lambda t: _b64(gzip.compress(t.encode())),
    "base64 of zlib": lambda t: _b64(zlib.compress(t.encode())),
    "base64 of bzip2": lambda t: _b64(bz2.compress(t.encode())),
    "base64 of xz": lambda t: _b64(lzma.compress(t.encode())),
    "base64 of gzip, wrapped": lambda t: base64.encodebytes(
        gzip.compress(f"{t} {bytes(range(99))!r}".encode())
    ),
    "base64 of gzip in JSON, wrapped": lambda t: json.dumps(
        base64.encodebytes(gzip.compress(f"{t} {bytes(range(99))!r}".encode())).decode()
    ).encode(),
    "base64 of long bzip2": lambda t: _b64(bz2.compress(f"{_NOISE} {t}".encode())),
    "base64 of long xz": lambda t: _b64(lzma.compress(f"{_NOISE} {t}".encode())),
    "base64 of long text": lambda t: _b64(f"{_NOISE} {_mixed(t).decode()}"),
    "hex of long zlib": lambda t: zlib.compress(f"{_NOISE} {t}".encode()).hex().encode(),
    "base85 of long gzip": lambda t: base64.b85encode(gzip.compress(f"{_NOISE} {t}".encode())),
    "gzip": lambda t: gzip.compress(f"hello {t} there".encode()),
    "gzip later": lambda t: b"\x00body\xff" + gzip.compress(f"hello {t} there".encode()),
    "zlib": lambda t: zlib.compress(f"hello {t} there".encode()),
    "base32": lambda t: base64.b32encode(t.encode()),
    "base32 lower": lambda t: base64.b32encode(t.encode()).lower().rstrip(b"="),
    "base32 shifted": lambda t: base64.b32encode(f"abc{t} and".encode()),
    "base32 hex": lambda t: base64.b32hexencode(t.encode()),
    "base32 of gzip": lambda t: base64.b32encode(gzip.compress(t.encode())),
    "ascii85": lambda t: base64.a85encode(t.encode()),
    "ascii85 in JSON": lambda t: json.dumps(base64.a85encode(t.encode()).decode()).encode(),
    "base85": lambda t: base64.b85encode(t.encode()),
    "base85 shifted": lambda t: base64.b85encode(f"a {t} and".encode()),
    "z85": lambda t: base64.b85encode(t.encode()).decode().translate(str.maketrans(_B85, _Z85)).encode(),
    "percent of base64": lambda t: quote(_b64(f"???~~~{t}~~~").decode(), safe="").encode(),
    "without its tail": lambda t: t[:14].encode() + b"...",
    "tail without prefix in base64 cut": lambda t: _b64(t)[:20],
    "md5": lambda t: hashlib.md5(t.encode()).hexdigest().encode(),
    "md5 as UUID": lambda t: "-".join(
        hashlib.md5(t.encode()).hexdigest()[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    ).encode(),
    "sha1": lambda t: hashlib.sha1(t.encode()).hexdigest().encode(),
    "sha256": lambda t: hashlib.sha256(t.encode()).hexdigest().upper().encode(),
    "sha256 cut": lambda t: hashlib.sha256(t.encode()).hexdigest()[:32].encode(),
    "sha256 in base64": lambda t: _b64(hashlib.sha256(t.encode()).digest()),
    "sha512": lambda t: f"sha512:{hashlib.sha512(t.encode()).hexdigest()}".encode(),
    "sha3-256": lambda t: hashlib.sha3_256(t.encode()).hexdigest().encode(),
    "blake2b": lambda t: hashlib.blake2b(t.encode()).hexdigest().encode(),
}
