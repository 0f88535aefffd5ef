"""Words and characters that tell nothing about where a text came from, because everybody uses them."""

from __future__ import annotations

__all__ = ["COMMON_HAN", "COMMON_WORDS"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMMON_WORDS = _words(
    """
    able about above accept account according across action actions active actually added additional after
    again against agent agents allow allowed almost alone along already also although always among amount
    analyse analysis analyze another answer answers anyone anything application apply around array asked
    asking assist assistant assistants available avoid away back base based because become been before begin
    being below best better between both bring brief build business call called calls came cannot care case
    cases cause certain change changes chat check child children choose clear client code come comes coming
    command common company complete completed concise conclude condition confirm consider contact contain
    contains content context continue conversation correct could course create created current customer
    customers data date dates days dear deal default define describe description detail details different
    direct does doing done down during each easy edit either else email empty enough ensure enter error errors
    even every everyone everything exact exactly example except expect expected explain explanation fact
    false feel field fields file files fill final finally find fine finish first follow following follows
    form format found free from full function further future gave general generate get give given gives goal
    going good great group guide hand handle happy hard have having hello help helpful here high hold home
    hour hours however human idea important include included includes including information input inputs
    inside instead instruction instructions internal into issue issues item items itself just keep kind know
    known language large last late later latest least leave left length less level like likely limit line
    lines list little live local long longer look looking lost made main make makes making many matter maybe
    mean means message messages method might minute minutes missing model moment month months more most move
    much must name named names near need needed needs never next none normal note notes nothing null number
    numbers object offer often okay once only open option options order orders other others output over page
    part parts past people perform perhaps person place plan please point possible prepare present previous
    problem problems process produce product project prompt provide provided public purpose question questions
    quick quickly quite rather read ready real really reason receive received regarding relevant remember
    reply report request requested requests require required respond response responses rest result results
    return returned returns review right role rule rules said same save says search second section seem seen
    select send sense sent sentence service session several short should show shown side simple simply since
    single size small some someone something soon sorry sort source specific start started state status step
    steps still stop string structure subject such summarise summarize summary support sure system systems
    take taken task tasks team tell term terms test tests text than thank thanks that their them then there
    these they thing things think this those though thought three through thus time times title today together
    token tokens told tomorrow took tool tools topic total toward translate true turn turns type types under
    understand unless until update updated upon used useful user users uses using usual valid value values
    various version very view wait want wants week weeks well went were what when where whether which while
    whole whose will wish with within without word words work working works world would write writing written
    wrong year years yesterday your yours yourself
    """
)

COMMON_HAN = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道"
    "行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意"
    "无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应向头文体政美相见被利什二"
    "等或新己制身果加内请您吗呢吧啊哦嗯让给做找帮需接着再查写读给出按照根据任务用户回答回复结果信息内容数据系统"
    "助手工具输入输出要求说明问题处理完成返回生成提供使用需要可以以下如下进行"
)
