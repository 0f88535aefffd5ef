"""Letters of other scripts that are drawn like ASCII letters and digits.

Compatibility forms (full-width, mathematical, circled, superscript) are left to Unicode's own NFKD.
Source of the idea: Unicode Technical Standard 39 (https://www.unicode.org/reports/tr39/); our own selection.
"""

from __future__ import annotations

__all__ = ["CONFUSABLE_LETTERS"]

_LOOKALIKES = {
    "a": "аɑαΑАᎪꓮᴀ",
    "b": "ЬвВΒᏴƄꓐьЪƀɓʙ",
    "c": "сСϲϹᏟⅽꓚᴄ",
    "d": "ԁԀᎠⅾꓓɖđᴅ",
    "e": "еЕΕεᎬҽꓰ℮ᴇ",
    "f": "ƒϝꓝϜғ",
    "g": "ɡԌԍᏀꓖǥɢ",
    "h": "һНΗᎻհꓧնћҺʜ",
    "i": "іІΙιᎥɩꓲıɪ",
    "j": "јЈᎫϳꓙᴊ",
    "k": "кКΚκᏦꓗҡқᴋ",
    "l": "ӏⅼᏞꓡłʟ",
    "m": "мМΜᎷⅿꓟʍϻᴍ",
    "n": "ոпΝηռꓠᴎиɴ",
    "o": "оОΟοσօꓳΌøᴏ",
    "p": "рРΡρᏢꓑþᴘ",
    "q": "ԛԚգզϙ",
    "r": "гᎡᏒꓣɾгʀѓ",
    "s": "ѕЅᏚՏꓢꜱ",
    "t": "тТΤτᎢꓔŧᴛ",
    "u": "υսЦꓴᴜμц",
    "v": "ѵѴνᏙⅴꓦ∨ᴠ",
    "w": "ԝԜᎳաꓪѡωᴡ",
    "x": "хХΧχⅹꓫ×",
    "y": "уУΥγүҮꓬỿʏ",
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


def _alphabets() -> dict[int, str]:
    # Letters in circles, squares and flags, and those of Braille: Unicode has no compatibility form for them.
    starts = (0x1F150, 0x1F170, 0x1F1E6)
    braille = zip("⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵", "abcdefghijklmnopqrstuvwxyz", strict=True)
    letters = {start + value: chr(97 + value) for start in starts for value in range(26)}
    return letters | {ord(char): letter for char, letter in braille}


CONFUSABLE_LETTERS: dict[int, str] = {
    **_digits(),
    **_alphabets(),
    **{ord(char): letter for letter, chars in _LOOKALIKES.items() for char in chars},
}
