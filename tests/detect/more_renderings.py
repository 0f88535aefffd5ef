"""Renderings beyond the everyday ones: ciphers, alphabets, layouts, steganography."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import textwrap
import unicodedata
import zlib
from collections.abc import Callable
from urllib.parse import quote

Render = Callable[[str], bytes]

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BASE45 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"


def _table(words: str) -> dict[str, str]:
    return dict(zip(_LOWER + "0123456789", words.split(), strict=True))


_MORSE = _table(
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- "
    "-.-- --.. ----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----."
)
_NATO = _table(
    "alfa bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar "
    "papa quebec romeo sierra tango uniform victor whiskey xray yankee zulu zero one two three four five "
    "six seven eight nine"
)
_LEET = str.maketrans("aestgbz", "4357982")
_SMALL_CAPS = str.maketrans("abcdeghjkmnprtvwyz", "ᴀʙᴄᴅᴇɢʜᴊᴋᴍɴᴘʀᴛᴠᴡʏᴢ")


def shift(text: str, by: int, digits: int = 0) -> str:
    """A Caesar shift of the letters, and of the digits by `digits`."""
    table = {ord(c): _LOWER[(n + by) % 26] for n, c in enumerate(_LOWER)}
    table |= {48 + n: str((n + digits) % 10) for n in range(10)}
    return text.translate(table)


def number(text: str, alphabet: str) -> str:
    """The bytes of a text as one number in another base."""
    value, out = int.from_bytes(text.encode(), "big"), ""
    while value:
        value, rest = divmod(value, len(alphabet))
        out = alphabet[rest] + out
    return out


def base45(data: bytes) -> bytes:
    """RFC 9285."""
    out = ""
    for start in range(0, len(data), 2):
        pair = data[start : start + 2]
        value = int.from_bytes(pair, "big")
        for _ in range(len(pair) + 1):
            value, rest = divmod(value, 45)
            out += _BASE45[rest]
    return out.encode()


def rot47(text: str) -> str:
    """ROT47 over printable ASCII."""
    return "".join(chr(33 + (ord(c) - 33 + 47) % 94) if 33 <= ord(c) < 127 else c for c in text)


def bits(text: str, zero: str, one: str, between: str = "", width: int = 8) -> str:
    """Each character as bits made of two symbols."""
    return between.join("".join(one if bit == "1" else zero for bit in f"{ord(c):0{width}b}") for c in text)


def xxd(data: bytes) -> bytes:
    """The layout of `xxd`."""
    lines = []
    for start in range(0, len(data), 16):
        part = data[start : start + 16]
        pairs = " ".join(part[at : at + 2].hex() for at in range(0, len(part), 2))
        shown = "".join(chr(c) if 32 <= c < 127 else "." for c in part)
        lines.append(f"{start:08x}: {pairs:<39}  {shown}")
    return "\n".join(lines).encode()


def hexdump(data: bytes) -> bytes:
    """The layout of `hexdump -C`."""
    lines = []
    for start in range(0, len(data), 16):
        part = data[start : start + 16]
        shown = "".join(chr(c) if 32 <= c < 127 else "." for c in part)
        lines.append(f"{start:08x}  {part[:8].hex(' '):<23}  {part[8:].hex(' '):<23}  |{shown}|")
    return "\n".join(lines).encode()


def yenc(data: bytes) -> bytes:
    """Each byte 42 higher (yEnc; no character of a token needs its escape)."""
    return bytes((c + 42) % 256 for c in data)


def deflate(data: bytes) -> bytes:
    """A raw deflate stream, as SAML and HTTP clients send it."""
    return zlib.compress(data)[2:-4]


def uuencode(data: bytes) -> bytes:
    """The lines of uuencode, with header and end."""
    lines = [binascii.b2a_uu(data[start : start + 45]) for start in range(0, len(data), 45)]
    return b"begin 644 f\n" + b"".join(lines) + b"`\nend\n"


def jwt(text: str) -> bytes:
    """Three segments of base64url."""
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').rstrip(b"=")
    body = base64.urlsafe_b64encode(json.dumps({"sub": text, "iat": 1516239022}).encode()).rstrip(b"=")
    return head + b"." + body + b"." + b"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"


MORE: dict[str, Render] = {
    "rot47": lambda t: rot47(t).encode(),
    "rot18": lambda t: shift(t, 13, 5).encode(),
    "rot5": lambda t: shift(t, 0, 5).encode(),
    **{f"caesar {by}": lambda t, by=by: shift(t, by).encode() for by in range(1, 26)},  # type: ignore[misc]
    "caesar 3 upper": lambda t: shift(t, 3).upper().encode(),
    "base58": lambda t: number(t, _BASE58).encode(),
    "base62": lambda t: number(t, _BASE62).encode(),
    "base36": lambda t: number(t, "0123456789" + _LOWER).encode(),
    "base36 upper": lambda t: number(t, "0123456789" + _LOWER).upper().encode(),
    "decimal number": lambda t: number(t, "0123456789").encode(),
    "base45": lambda t: base45(t.encode()),
    "base45 of capitals": lambda t: base45(t.upper().encode()),
    "uuencode": lambda t: uuencode(t.encode()),
    "uuencode line": lambda t: binascii.b2a_uu(t.encode()),
    "uuencode of text": lambda t: uuencode(f"This is a text with more in it: {t}, and more.".encode()),
    "yenc": lambda t: yenc(t.encode()),
    "deflate in base64": lambda t: base64.b64encode(deflate(t.encode())),
    "deflate of text in base64": lambda t: base64.b64encode(deflate(f"<a>{t}</a> <a>{t}</a>".encode())),
    "morse": lambda t: " ".join(_MORSE[c] for c in t).encode(),
    "morse with slashes": lambda t: " / ".join(_MORSE[c] for c in t).encode(),
    "morse with real dots": lambda t: (
        " ".join(_MORSE[c] for c in t).replace(".", "·").replace("-", "−").encode()
    ),
    "nato": lambda t: " ".join(_NATO[c] for c in t).encode(),
    "nato with capitals and dashes": lambda t: "-".join(_NATO[c].title() for c in t).encode(),
    "leet": lambda t: t.translate(_LEET).encode(),
    "leet, some": lambda t: (t[:8].translate(_LEET) + t[8:]).encode(),
    "css escape": lambda t: "".join(f"\\{ord(c):x} " for c in t).encode(),
    "css escape, six digits": lambda t: "".join(f"\\{ord(c):06x}" for c in t).encode(),
    "css escape, some": lambda t: "".join(f"\\{ord(c):x} " if i % 2 else c for i, c in enumerate(t)).encode(),
    "css escape, six digits, some": lambda t: "".join(
        f"\\{ord(c):06x}" if i % 2 else c for i, c in enumerate(t)
    ).encode(),
    "python names": lambda t: "".join(f"\\N{{{unicodedata.name(c)}}}" for c in t).encode(),
    "unicode names": lambda t: ", ".join(unicodedata.name(c) for c in t).encode(),
    "code points": lambda t: " ".join(f"U+{ord(c):04X}" for c in t).encode(),
    "octal escape of C": lambda t: "".join(f"\\{ord(c):o}" for c in t).encode(),
    "octal literals": lambda t: " ".join(f"0{ord(c):o}" for c in t).encode(),
    "octal literals of Python": lambda t: ", ".join(f"{ord(c):#o}" for c in t).encode(),
    "octal, bare": lambda t: "".join(f"{ord(c):03o}" for c in t).encode(),
    "binary literals": lambda t: ", ".join(f"{ord(c):#010b}" for c in t).encode(),
    "binary of seven": lambda t: " ".join(f"{ord(c):07b}" for c in t).encode(),
    "binary, as short as may be": lambda t: " ".join(f"{ord(c):b}" for c in t).encode(),
    "binary, bare": lambda t: bits(t, "0", "1").encode(),
    "binary in two symbols": lambda t: bits(t, "○", "●", " ").encode(),
    "decimal of three digits": lambda t: " ".join(f"{ord(c):03d}" for c in t).encode(),
    "decimal, bare": lambda t: "".join(f"{ord(c):03d}" for c in t).encode(),
    "decimal on lines": lambda t: "\n".join(str(ord(c)) for c in t).encode(),
    "decimal with semicolons": lambda t: ";".join(str(ord(c)) for c in t).encode(),
    "decimal JSON list": lambda t: json.dumps(list(t.encode()), indent=1).encode(),
    "buffer of Node": lambda t: json.dumps({"type": "Buffer", "data": list(t.encode())}).encode(),
    "decimal with names": lambda t: json.dumps({str(i): c for i, c in enumerate(t.encode())}).encode(),
    "bytes of Go": lambda t: f"[]byte{{{', '.join(f'{c:#x}' for c in t.encode())}}}".encode(),
    "xxd": lambda t: xxd(f"The secret is: {t}; keep it".encode()),
    "xxd, bare": lambda t: xxd(t.encode()),
    "hexdump": lambda t: hexdump(f"The secret is: {t}; keep it".encode()),
    "mime word in base64": lambda t: b"=?utf-8?B?" + base64.b64encode(t.encode()) + b"?=",
    "mime word, quoted": lambda t: f"=?utf-8?Q?{''.join(f'={ord(c):02X}' for c in t)}?=".encode(),
    "mime words": lambda t: f"=?utf-8?q?{t[:9]}?=\r\n =?utf-8?q?{t[9:]}?=".encode(),
    "jwt": jwt,
    "data URL, percent": lambda t: f"data:text/plain,{quote(t)}".encode(),
    "punycode": lambda t: f"xn--{f'令牌{t}'.encode('punycode').decode()}".encode(),
    "utf-7": lambda t: "".join(
        f"+{base64.b64encode(c.encode('utf-16-be')).decode().rstrip('=')}-" for c in t
    ).encode(),
    "json array of pieces": lambda t: json.dumps(textwrap.wrap(t, 3), indent=2).encode(),
    "html tags": lambda t: "".join(f"<b>{c}</b>" for c in t).encode(),
    "html tags with attributes": lambda t: "".join(
        f'<span class="a{i}">{c}</span>' for i, c in enumerate(t)
    ).encode(),
    "html tags between pieces": lambda t: f"<p>{t[:6]}<br/>{t[6:13]}<i>{t[13:]}</i></p>".encode(),
    "html comments": lambda t: "<!-- x -->".join(textwrap.wrap(t, 5)).encode(),
    "html entities for digits": lambda t: "".join(f"&#x{ord(c):06x};" for c in t).encode(),
    "ansi colours": lambda t: "".join(f"\x1b[3{i % 8}m{c}\x1b[0m" for i, c in enumerate(t)).encode(),
    "markdown emphasis": lambda t: "".join(
        f"**{c}**" if i % 2 else f"_{c}_" for i, c in enumerate(t)
    ).encode(),
    "markdown table": lambda t: f"| {' | '.join(t)} |".encode(),
    "column": lambda t: "\r\n".join(t).encode(),
    "quoted column": lambda t: "\n".join(f"> {c}" for c in t).encode(),
    "numbered column": lambda t: "\n".join(f"{i}. {c}" for i, c in enumerate(t, 1)).encode(),
    "indexed letters": lambda t: json.dumps(dict(enumerate(t))).encode(),
    "reversed pieces": lambda t: " ".join(w[::-1] for w in textwrap.wrap(t, 10)[::-1])[::-1].encode(),
    "reversed in base64": lambda t: base64.b64encode(t[::-1].encode()),
    "base64 reversed": lambda t: base64.b64encode(t.encode())[::-1],
    "hex reversed": lambda t: t.encode().hex()[::-1].encode(),
    "rot13 of base64": lambda t: base64.b64encode(t.encode()).translate(
        bytes.maketrans(
            (_LOWER + _LOWER.upper()).encode(),
            (_LOWER[13:] + _LOWER[:13] + _LOWER[13:].upper() + _LOWER[:13].upper()).encode(),
        )
    ),
    "rot13 in base64": lambda t: base64.b64encode(shift(t, 13).encode()),
    "every second letter": lambda t: "x".join(t).encode(),
    "zero-width bits": lambda t: ("Hi" + bits(t, "\u200b", "\u200c") + " there").encode(),
    "zero-width bits with separators": lambda t: bits(t, "\u200c", "\u200d", "\u200b").encode(),
    "zero-width bits, turned": lambda t: bits(t, "\u200d", "\u200b", width=8).encode(),
    "zero-width bits with other marks": lambda t: bits(t, "\u2060", "\ufeff").encode(),
    "spaces and tabs": lambda t: ("x" + bits(t, " ", "\t") + "\n").encode(),
    "spaces and tabs on lines": lambda t: "\n".join(f"word{bits(c, ' ', chr(9))}" for c in t).encode(),
    "regional indicators": lambda t: "".join(
        chr(0x1F1E6 + ord(c) - 97) if c.isalpha() else c for c in t
    ).encode(),
    "keycaps": lambda t: "".join(f"{c}\ufe0f\u20e3" if c.isdigit() else c for c in t).encode(),
    "circled": lambda t: "".join(chr(0x24D0 + ord(c) - 97) if c.isalpha() else c for c in t).encode(),
    "negative circled": lambda t: "".join(
        chr(0x1F150 + ord(c) - 97) if c.isalpha() else c for c in t
    ).encode(),
    "negative squared": lambda t: "".join(
        chr(0x1F170 + ord(c) - 97) if c.isalpha() else c for c in t
    ).encode(),
    "parenthesized": lambda t: "".join(chr(0x249C + ord(c) - 97) if c.isalpha() else c for c in t).encode(),
    "small capitals": lambda t: t.translate(_SMALL_CAPS).encode(),
    "fraktur": lambda t: "".join(chr(0x1D51E + ord(c) - 97) if c.isalpha() else c for c in t).encode(),
    "double-struck": lambda t: "".join(
        chr(0x1D552 + ord(c) - 97) if c.isalpha() else chr(0x1D7D8 + int(c)) for c in t
    ).encode(),
    "braille": lambda t: (
        t.encode("ascii")
        .decode()
        .translate(dict(zip(map(ord, _LOWER), "⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵", strict=True)))
        .encode()
    ),
    "ebcdic": lambda t: t.encode("cp037"),
    "gzip of base64 of hex": lambda t: gzip.compress(base64.b64encode(t.encode().hex().encode())),
    "ascii85 in markers": lambda t: base64.a85encode(f"a text: {t}".encode(), adobe=True),
    "base32 of Crockford": lambda t: _crockford(t.encode()),
    "quoted-printable, lower": lambda t: "".join(f"={ord(c):02x}" for c in t).encode(),
    "sql concatenation": lambda t: " || ".join(f"'{c}'" for c in t).encode(),
    "xml references, padded": lambda t: "".join(f"&#{ord(c):05d};" for c in t).encode(),
    "url in url": lambda t: quote(
        f"https://example.com/?next={quote('/a?k=' + t, safe='')}", safe=""
    ).encode(),
    "php chr": lambda t: ".".join(f"chr({ord(c):#x})" for c in t).encode(),
    "powershell": lambda t: f"-join({','.join(f'[char]{ord(c)}' for c in t)})".encode(),
}


def _crockford(data: bytes) -> bytes:
    table = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    return base64.b32encode(data).rstrip(b"=").translate(table)


UNSEEN = (
    "base45",
    "base45 of capitals",
    "uuencode line",
    "unicode names",
    "binary, as short as may be",
    "binary in two symbols",
    "decimal with names",
    "indexed letters",
    "every second letter",
)
"""Renderings of this table that no decoder undoes: what they cost would exceed what they tell."""
