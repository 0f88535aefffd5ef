"""The words of which prose and names are made: 64 a list, so that each stands for six bits of a token."""

from __future__ import annotations

__all__ = ["ADJECTIVES", "ADVERBS", "GIVEN_NAMES", "NOUNS", "SURNAMES", "SYLLABLES", "VERBS"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ADVERBS = _words(
    """
    quietly slowly gladly rarely firmly calmly boldly neatly kindly warmly wisely openly partly mainly
    merely nearly newly oddly purely safely sadly simply softly solely surely swiftly thinly tightly
    tidily truly vaguely vastly weakly widely wildly yearly monthly weekly daily hourly bravely briefly
    brightly busily cheaply clearly closely coldly coolly darkly deeply densely directly evenly exactly
    fairly faintly finely freshly fully gently grandly greatly hastily
    """
)
VERBS = _words(
    """
    painted carried folded counted moved traded opened closed cleaned copied crossed dropped filled
    guarded handed hauled joined kept lifted loaded locked mailed marked measured mended mixed named
    numbered ordered packed parked placed planted polished posted printed pulled pushed raised reached
    rented repaired rolled sealed sent shaped shared shipped signed sketched sorted stacked stamped
    stored studied swapped tasted tested towed turned varnished washed weighed wrapped
    """
)
ADJECTIVES = _words(
    """
    amber ancient ashen bitter blunt bronze broken crimson copper coral curved dusty eastern empty faded
    feathered flat folded foggy frosted gilded golden granite green hollow ivory jagged jade knotted
    lacquered leaden linen marble mossy muddy narrow northern oaken olive painted pale pearl pewter
    plain polished purple quartz ragged rusty salted sandy scarlet silver slate smooth southern speckled
    striped sunken velvet walnut western wicker woollen
    """
)
NOUNS = _words(
    """
    anchor anvil apron atlas barrel basin basket beacon bell bench bottle bridge bucket buoy cabinet
    candle canoe canvas carpet cart cask chalice chest chisel clock compass crate cradle drum easel
    fence ferry flute funnel gate globe hammer harp helmet kettle kite ladder lantern ledger loom mallet
    mirror oar orchard paddle parcel pillar pulley quill raft saddle sail scale shovel spindle teapot
    trumpet wagon well
    """
)
SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹"
    "袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚"
)
GIVEN_NAMES = (
    "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚桂英华玉萍红建文辉力鹏"
    "宇浩凯健俊帆雪琳晨欣怡佳嘉慧宁波斌峰志国海龙云飞翔梅兰清雅思晓婷"
)
SYLLABLES = tuple(one + two for one in "bdfghklmnprstvwz" for two in "aeou")
