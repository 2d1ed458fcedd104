"""English past tenses: which words are one, and their base forms. Good enough for asking when something happened."""

from __future__ import annotations

import re

AUXILIARIES = frozenset("was were is are had has have did does do could would will can".split())

IRREGULAR: dict[str, str] = dict(
    pair.split(":")
    for pair in """arose:arise beat:beat became:become began:begin bent:bend bet:bet bid:bid bit:bite bled:bleed blew:blow
    bought:buy bound:bind broke:break brought:bring broadcast:broadcast built:build burst:burst came:come cast:cast
    caught:catch chose:choose crept:creep cost:cost cut:cut dealt:deal drew:draw drove:drive dug:dig drank:drink ate:eat
    fed:feed fell:fall felt:feel fled:flee flew:fly fought:fight found:find forbade:forbid forgot:forget froze:freeze
    gave:give got:get grew:grow went:go held:hold hid:hide hit:hit hung:hang hurt:hurt kept:keep knew:know laid:lay
    led:lead left:leave lent:lend let:let lit:light lost:lose made:make meant:mean met:meet overtook:overtake
    overthrew:overthrow paid:pay put:put quit:quit ran:run rang:ring read:read rebuilt:rebuild rode:ride rose:rise
    said:say sang:sing sank:sink sat:sit saw:see sent:send set:set shook:shake shot:shoot shut:shut slew:slay sold:sell
    sought:seek spent:spend split:split spoke:speak spread:spread stole:steal stood:stand struck:strike stuck:stick
    swept:sweep swam:swim swore:swear took:take taught:teach told:tell thought:think threw:throw underwent:undergo
    understood:understand undertook:undertake won:win withdrew:withdraw wore:wear
    wrote:write woke:wake died:die lied:lie tied:tie used:use""".split()
)

_PARTICIPLES = frozenset(
    """been born begun broken chosen done drawn driven fallen flown frozen given gone grown hidden known overthrown risen
    seen shown spoken stolen struck sunk sworn taken thrown torn withdrawn worn written""".split()
)
_NO_VERBS = frozenset(
    "bed red hundred seed need speed feed weed breed shed sled united armed unmanned so-called".split()
)


def is_past(word: str) -> bool:
    """May this lower-case word be a past tense or a participle?"""
    if word in IRREGULAR or word in _PARTICIPLES:
        return True
    return len(word) > 3 and word.endswith("ed") and word.isalpha() and word not in _NO_VERBS


def base(past: str) -> str:
    """The base form of a past tense: "cut" -> "cut", "released" -> "release", "stopped" -> "stop", "carried" -> "carry"."""
    if past in IRREGULAR:
        return IRREGULAR[past]
    if not past.endswith("ed"):
        return past
    if past.endswith("ied") and len(past) > 4:
        return past[:-3] + "y"
    bare = past[:-2]
    if bare + "e" in _WITH_E or (
        re.search(r"(?:[vzuc]|dg|[aeiou]s|[rln]s|[^aeo]at|[^o]eg)$", bare) and bare not in _WITHOUT_E
    ):
        return bare + "e"
    doubled = len(bare) > 2 and bare[-1] == bare[-2] and bare[-1] not in "lsfz"
    return bare[:-1] if doubled else bare


_WITH_E = frozenset(
    """abdicate acquire admire advise arrange assemble assume bake care change charge close combine come compete
    compile compose compute concede conclude configure consume create debate decide declare decline
    define deprive describe desire despise destine determine dine discharge dislodge divide divorce elope emerge
    enable encode endure engage enlarge ensure escape examine exclude excite execute expire explode explore expose
    file fine fire force forge gauge grade handle hire hope ignite imagine implode improve include
    inquire inscribe inspire institute invade invite issue joke judge line like locate manage merge mine name note
    oblige obscure outline overrule paste persuade phone pile pledge precede prepare preside presume procure promote
    propose prescribe provide provoke purge quote race raise rate realize recede reconcile reduce rehire relate rename
    repute require rescue resume retire reunite revoke ride rule scale score secede secure seize settle share shape
    smoke stage stake state store struggle subscribe supersede surge tackle taste title tire trade type
    undermine unite urge vote wade waste wipe wire exile rebuke recognize premiere delete compete sample double
    triple trouble cripple collapse dismantle disable topple shuffle stumble assemble battle bundle tumble resemble""".split()
)
"""Verbs that end in a silent e which the rule of `base` would not give back."""

_WITHOUT_E = frozenset("focus bias canvas combat format".split())
