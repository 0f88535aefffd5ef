"""One text for each kind in the table of over-estimates; it holds for these, and roughly for others."""

from __future__ import annotations

from unicodedata import normalize

__all__ = ["SAMPLES"]

SAMPLES = {
    "prose": (
        "The bill for May came to one hundred and twenty-nine yuan. It covers the monthly fee and two hours "
        "of calls abroad, and it was paid on the third of June. Nothing is open at the moment; if you would "
        "like a copy for your records, say so and a document will be prepared for you."
    ),
    "chinese": (
        "五月份的账单是一百二十九元，包含月租和两个小时的国际通话，已经在六月三日支付。目前没有欠费；"
        "如果需要留存，可以告诉我，我会为你准备一份文件。"
    ),
    "rare chinese": "𠀀𠀁𠀂𠀃𠀄𠀅𠀆𠀇𠀈𠀉𠮷𡈽𢈘𣏌𤭖𥝱𦥑𧘇𨨏𩸽𪜶𫝆𫠝𫢸㐀㐁㐂㐃㐄㐅",
    "emoji": "😀🎉🚀👍🏽👩‍👩‍👧‍👦❤️🔥🇨🇳🇩🇪🙈🙉🙊🍎🍌🍇🚗🚕🚙⚽🏀🎾",
    "jamo": normalize("NFD", "각넌돋룰믐빕샛엥쟞쳧"),
    "json": (
        '{"items":[{"amount":129.5,"currency":"CNY","date":"2024-05-01","name":"monthly fee","paid":true},'
        '{"amount":18,"currency":"CNY","date":"2024-05-12","name":"calls abroad","paid":true}],"next":null}'
    ),
    "code": (
        "def total(lines: list[Line]) -> Decimal:\n"
        '    """The sum of the lines that are open."""\n'
        "    return sum((line.amount for line in lines if not line.paid), Decimal(0))\n\n"
        "for bill in bills:\n    if total(bill.lines) > limit:\n        notify(bill.owner, reason='limit')\n"
    ),
}
