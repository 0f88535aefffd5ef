"""Seldom layouts of a whole view: markup between letters, hex dumps, bits of blanks, Morse, spelled letters.

Each yields another view to be searched. What decides whether it is made at all are the few characters of a
view that are left when letters, digits and ordinary punctuation are taken out.
"""

from __future__ import annotations

import binascii
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from isolation_kit.detect.forms import Form
from isolation_kit.detect.sieve import spread

__all__ = ["CARRIERS", "layout_patterns", "layouts"]

CARRIERS = frozenset({Form.HEX, Form.UUENCODE})
"""Layouts that carry any bytes; the others only spell letters."""

_TELLING = b"<\x1b\t\n.-\\?"
_ASCII = bytes(range(128))
_ORDINARY = b".-"  # few of these tell nothing
_UNTOLD = bytes(byte for byte in range(256) if byte not in _TELLING)
_MARKUP = re.compile(rb"<!--[^<>]{0,400}-->|</?[a-zA-Z][^<>]{0,400}>")
_COLOURS = re.compile(rb"\x1b\[[0-9;]{0,20}[A-Za-z]")
_WORDS_OF_MAIL = re.compile(rb"\?=\s+=\?[^?\s]{1,40}\?[bBqQ]\?")  # RFC 2047: the seam between two
_NUMBERED = re.compile(
    rb"(?<![0-9A-Za-z])\d{1,3}[^0-9A-Za-z\n]{1,4}([0-9A-Za-z]{1,3})[^0-9A-Za-z\n]{0,4}$", re.MULTILINE
)
_DUMP = re.compile(
    rb"(?<![0-9A-Za-z])[0-9a-fA-F]{4,8}:?[ \t]{1,4}((?:[0-9a-fA-F]{2,8}(?![0-9A-Za-z])[ \t]{0,3}){1,16})"
)
_DUMP_DIGITS = 32  # of a line; what follows may be the column of characters
_BLANKS = re.compile(rb"[ \t\n]{96,}")
_LINE_ENDS = re.compile(rb"[ \t]{7,8}(?=\n|\Z)")
_UU = re.compile(rb"begin [0-7]{3,4} [^\n]{0,200}\n((?:[!-M][ -`]{0,80}\n?)+)")
_NAMED = re.compile(r"\\+N\{([A-Z0-9 \-]{3,80})\}")
_CSS_DENSE = re.compile(rb"(?:\\[0-9a-fA-F]{2,6} ?[0-9A-Za-z]{0,2}){6}")
_CSS = re.compile(rb"\\([0-9a-fA-F]{1,6})[ \t\n]?")
_INVISIBLE_MARK = r"\xe2\x80[\x8b-\x8f]|\xe2\x81[\xa0-\xa4]|\xe1\xa0\x8e|\xef\xbb\xbf"
_INVISIBLE = re.compile(f"(?:{_INVISIBLE_MARK}){{88,}}".encode())
_INVISIBLE_MARKS = tuple(mark.encode() for mark in "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")


def _table(words: str, letters: str) -> dict[str, str]:
    return dict(zip(words.split(), letters, strict=True))


_MORSE = _table(
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- "
    "--.. ----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----.",
    "abcdefghijklmnopqrstuvwxyz0123456789",
)
_MORSE_RUN = re.compile(r"(?:[.-]{1,5}[ /|,\t\n]{1,3}){11,}[.-]{1,5}")
_MORSE_DOTS, _MORSE_DASHES = "·•∙‧", "−–—‐‑"
_MORSE_MARKS = str.maketrans(_MORSE_DOTS + _MORSE_DASHES, "....-----")
_MORSE_MARK = (
    "(?:[.-]|"
    + "|".join(re.escape(mark.encode().decode("latin-1")) for mark in _MORSE_DOTS + _MORSE_DASHES)
    + ")"
)
_MORSE_BYTES = tuple(mark.encode() for mark in _MORSE_DOTS)
_SPELLED = _table(
    "alfa alpha bravo charlie delta echo foxtrot golf hotel india juliett juliet kilo lima mike november "
    "oscar papa quebec romeo sierra tango uniform victor whiskey whisky xray yankee zulu zero one two three "
    "four five six seven eight nine niner",
    "aabcdefghijjklmnopqrstuvwwxyz01234567899",
)
# Two long spellings end with the first letter of the next word: "nine" and "romeo", "juliet" and "tango".
_SPELLED_WORD = re.compile(
    "niner(?!omeo)|juliett(?!ango|hree|wo)|"
    + "|".join(sorted(_SPELLED.keys() - {"niner", "juliett"}, key=lambda word: (-len(word), word)))
)
_LEAST_MARKS = 24
_LEAST_ITEMS = 11
# What is taken out of a text by undoing markup; more than that does no harm.
_SPLIT = r"(?:<[!/a-zA-Z][^<>]*>|\x1b\[[0-9;]*[A-Za-z]|\?=(?:\s|\\[nrt])+=\?[^?\s]*\?[bBqQ]\?)"
_SPLIT_GAP = rf"(?:[^A-Za-z0-9]|\\[nrt]|{_SPLIT})*"


def layouts(data: bytes, low: bytes, head: bytes) -> list[tuple[Form, bytes]]:
    """Other views of `data`, each with its form.

    Args:
        data: the view, its escaped line breaks made real.
        low: its ASCII letters and digits, in lower case.
        head: the four characters that every token starts with.
    """
    rest = data.translate(None, _UNTOLD)
    out: list[tuple[Form, bytes]] = []
    if len(rest) >= _LEAST_ITEMS or rest.translate(None, _ORDINARY):
        out += _by_marks(data, rest, head)
    for spelled in _spelled(head):
        at = low.find(spelled)
        if at >= 0:
            out.append((Form.SPELLED, _read_words(low[at:].decode())))
    if not data.isascii():
        out += _by_unicode(data, head)
    return out


def layout_patterns(head: bytes) -> list[str]:
    """What a view holds, read as Latin-1, if a layout can show more tokens than it spells itself."""
    blanks = {text for one in (b"\t", b"\n") for text in _in_blanks(head, one)}
    ebcdic = [text.encode("cp037") for text in (head.decode(), head.decode().upper())]
    return [
        *(
            f"{spread(head[:at])}{_SPLIT_GAP}{_SPLIT}{_SPLIT_GAP}{spread(head[at:], _SPLIT_GAP)}"
            for at in range(1, len(head))
        ),
        r"\\N\{",
        *(re.escape(text.decode()) for text in _in_css(head)),
        f"(?:{_MORSE_MARK}+(?:[ /|,\\t\\n]|\\\\[nrt])+){{{_LEAST_ITEMS}}}{_MORSE_MARK}",
        r"(?:\n|\\[nrt])10[^0-9A-Za-z\n]{1,4}[0-9A-Za-z]",
        r"0010:?[ \t]{1,4}[0-9a-fA-F]{2}",
        "begin [0-7]{3,4} ",
        *("".join(r"(?:\n|\\[nrt])" if char == 10 else f"\\x{char:02x}" for char in text) for text in blanks),
        *map(spread, _spelled(head)),
        f"(?:{_INVISIBLE_MARK}){{{_LEAST_MARKS}}}",
        *(re.escape(text.decode("latin-1")) for text in (bytes(byte + 42 for byte in head), *ebcdic)),
    ]


def _by_marks(data: bytes, rest: bytes, head: bytes) -> Iterator[tuple[Form, bytes]]:
    if b"<" in rest and (bare := _MARKUP.sub(b"", data)) != data:
        yield Form.MARKUP, bare
    if b"?" in rest and b"?=" in data and (bare := _WORDS_OF_MAIL.sub(b"", data)) != data:
        yield Form.MARKUP, bare
    if b"\x1b" in rest:
        yield Form.MARKUP, _COLOURS.sub(b"", data)
    if b"\\" in rest:
        yield from _by_backslash(data, head)
    if _in_morse(head) in rest.translate(None, b"\n\t"):
        yield from _morse(data.decode("utf-8", "replace"))
    if b"\n" in rest:
        yield from _by_lines(data)
    for one in (b"\t", b"\n"):
        if rest.count(one) >= _LEAST_MARKS and any(text in data for text in _in_blanks(head, one)):
            yield from _blanks(data)


def _by_lines(data: bytes) -> Iterator[tuple[Form, bytes]]:
    if b"\n10" in data:
        yield from _numbered(_NUMBERED.findall(data))
    if b"0010" in data:
        pairs = [b"".join(line.split())[:_DUMP_DIGITS] for line in _DUMP.findall(data)]
        yield Form.HEX, b"".join(binascii.unhexlify(digits[: len(digits) & ~1]) for digits in pairs)
    if b"begin " in data:
        for body in _UU.findall(data):
            yield Form.UUENCODE, b"".join(map(_uu_line, body.splitlines()))


def _numbered(items: list[bytes]) -> Iterator[tuple[Form, bytes]]:
    """The items of a numbered list one after the other, and read as character codes."""
    if len(items) >= _LEAST_ITEMS:
        yield Form.NUMBERED, b"".join(items)
        yield Form.NUMBERED, bytes(int(item) & 127 for item in items if item.isdigit())


def _by_backslash(data: bytes, head: bytes) -> Iterator[tuple[Form, bytes]]:
    if b"\\N{" in data:
        yield Form.NAMES, _NAMED.sub(_named, data.decode("utf-8", "replace")).encode("utf-8", "replace")
    if any(escape in data for escape in _in_css(head)) and _CSS_DENSE.search(data):
        yield Form.CSS, _CSS.sub(lambda match: bytes((int(match[1], 16) & 127,)), data)


def _by_unicode(data: bytes, head: bytes) -> Iterator[tuple[Form, bytes]]:
    wide = data.translate(None, _ASCII)
    if len(wide) >= 16 * _LEAST_ITEMS and sum(map(wide.count, _INVISIBLE_MARKS)) >= 8 * _LEAST_ITEMS:
        for match in _INVISIBLE.finditer(data):
            for bits in _bits(match[0].decode()):
                yield Form.BITS, bits
    if sum(map(wide.count, _MORSE_BYTES)) >= _LEAST_MARKS // 2:
        yield from _morse(data.decode("utf-8", "replace").translate(_MORSE_MARKS))
    if head[0] + 42 in wide and bytes(byte + 42 for byte in head) in data:
        yield Form.YENC, bytes((byte - 42) % 256 for byte in data)
    if any(text.encode("cp037") in wide for text in (head.decode(), head.decode().upper())):
        yield Form.EBCDIC, data.decode("cp037").encode()


def _morse(text: str) -> Iterator[tuple[Form, bytes]]:
    for match in _MORSE_RUN.finditer(text):
        yield Form.MORSE, "".join(_MORSE.get(code, " ") for code in re.findall(r"[.-]+", match[0])).encode()


def _blanks(data: bytes) -> Iterator[tuple[Form, bytes]]:
    runs = [match[0] for match in _BLANKS.finditer(data)]
    for run in (*runs, b"".join(_LINE_ENDS.findall(data))):
        for bits in _bits(run.decode()) if len(run) >= 8 * _LEAST_ITEMS else ():
            yield Form.BITS, bits


def _bits(run: str) -> Iterator[bytes]:
    """What a run of two symbols says, either of them as the one, in groups of eight or seven."""
    symbols = sorted(set(run), key=run.count, reverse=True)
    if len(symbols) == 3:  # the third may part the letters
        parts = run.split(symbols[2])
        letters = [part for part in parts if len(part) in (7, 8)]
        run = "".join(letters) if len(letters) >= _LEAST_ITEMS else max(parts, key=len)
    if not 2 <= len(symbols) <= 3:
        return
    for zero, one in (symbols[:2], symbols[1::-1]):
        digits = run.replace(zero, "0").replace(one, "1")
        for width in (8, 7):
            whole = len(digits) // width * width
            yield bytes(int(digits[at : at + width], 2) for at in range(0, whole, width))


def _uu_line(line: bytes) -> bytes:
    try:
        return binascii.a2b_uu(line)
    except binascii.Error:
        return b""


def _named(match: re.Match[str]) -> str:
    try:
        return unicodedata.lookup(match[1])
    except KeyError:
        return match[0]


def _read_words(low: str) -> bytes:
    out, at = "", 0
    while match := _SPELLED_WORD.match(low, at):
        out += _SPELLED[match[0]]
        at = match.end()
    return out.encode()


@lru_cache(maxsize=16)
def _in_morse(head: bytes) -> bytes:
    codes = {letter: code for code, letter in _MORSE.items()}
    return "".join(codes[char] for char in head.decode()).encode()


@lru_cache(maxsize=32)
def _in_blanks(head: bytes, one: bytes) -> tuple[bytes, ...]:
    """The bits of `head` in blanks, in a row or a letter a line, either blank as the one."""
    out = []
    for low, high in ((b" ", one), (one, b" ")):
        letters = [f"{char:08b}".encode().translate(bytes.maketrans(b"01", low + high)) for char in head]
        out += [b"".join(letters), letters[0] + b"\n"]
    return tuple(out[:1] if one == b"\n" else out)  # a page of JSON has as many line ends as blanks


@lru_cache(maxsize=16)
def _in_css(head: bytes) -> tuple[bytes, ...]:
    return (b"\\0000", b"\\%x" % head[0], b"\\%x" % head[1])


@lru_cache(maxsize=16)
def _spelled(head: bytes) -> tuple[bytes, ...]:
    """The words that spell `head`, in every spelling."""
    words = ([word for word, letter in _SPELLED.items() if letter == char] for char in head.decode())
    return tuple("".join(choice).encode() for choice in product(*words))
