"""Letters of other scripts that are drawn like ASCII letters and digits.

Compatibility forms (full-width, mathematical, circled, superscript) are left to Unicode's own NFKD.
Source of the idea: Unicode Technical Standard 39 (https://www.unicode.org/reports/tr39/); our own selection.
"""

from __future__ import annotations

__all__ = ["CONFUSABLE_LETTERS"]

_LOOKALIKES = {
    "a": "аɑαΑАᎪꓮ",
    "b": "ЬвВΒᏴƄꓐьЪƀɓ",
    "c": "сСϲϹᏟⅽꓚ",
    "d": "ԁԀᎠⅾꓓɖđ",
    "e": "еЕΕεᎬҽꓰ℮",
    "f": "ƒϝꓝϜғ",
    "g": "ɡԌԍᏀꓖǥ",
    "h": "һНΗᎻհꓧնћҺ",
    "i": "іІΙιᎥɩꓲı",
    "j": "јЈᎫϳꓙ",
    "k": "кКΚκᏦꓗҡқ",
    "l": "ӏⅼᏞꓡłʟ",
    "m": "мМΜᎷⅿꓟʍϻ",
    "n": "ոпΝηռꓠᴎи",
    "o": "оОΟοσօꓳΌø",
    "p": "рРΡρᏢꓑþ",
    "q": "ԛԚգզϙ",
    "r": "гᎡᏒꓣɾгʀѓ",
    "s": "ѕЅᏚՏꓢꜱ",
    "t": "тТΤτᎢꓔŧ",
    "u": "υսЦꓴᴜμц",
    "v": "ѵѴνᏙⅴꓦ∨",
    "w": "ԝԜᎳաꓪѡω",
    "x": "хХΧχⅹꓫ×",
    "y": "уУΥγүҮꓬỿ",
    "z": "ᏃΖζᴢꓜʐ",
    "0": "Օ०০੦૦௦๐໐",
    "1": "ߊ",
    "2": "ƧᒿꙄ",
    "3": "ЗзӠӡƷҘʒЭ",
    "4": "ᏎЧч",
    "5": "Ƽƽ",
    "6": "бᏮϬ",
    "8": "Ȣȣ",
    "9": "Ꮽգ",
}


def _digits() -> dict[int, str]:
    # Decimal digits of the scripts that people meet; each block starts at its zero.
    starts = (0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xBE6, 0xE50, 0xED0)
    return {start + value: str(value) for start in starts for value in range(10)}


CONFUSABLE_LETTERS: dict[int, str] = {
    **_digits(),
    **{ord(char): letter for letter, chars in _LOOKALIKES.items() for char in chars},
}
