"""Words that deny each other, and states of which a thing can be in one only."""

_PAIRS = """
absent present | missing present | nonexistent present | gone present | exists present | exist present
broken works | working works | work works
fail pass | fails pass | failed pass | failing pass | passes pass | passed pass | passing pass | succeeds pass
disabled enabled | inactive active | deactivated active | off on
impossible possible | infeasible possible
incorrect correct | wrong correct | right correct | accurate correct | inaccurate correct | faulty correct
invalid valid
unavailable available | unsupported supported | supports supported | support supported
lack has | lacks has | have has | had has | contains has | contain has | includes has | include has
optional required | requires required | require required | needs required | need required | mandatory required
unnecessary required | necessary required | needed required
closed open | locked unlocked
ineligible eligible | eligible eligible
unsafe safe | insecure secure
unused used | uses used | use used
undefined defined | uninitialised initialised | uninitialized initialised | initialized initialised
unchanged changed | immutable mutable | nonrefundable refundable
unreachable reachable | inaccessible accessible
inconsistent consistent | incompatible compatible | incomplete complete
irrelevant relevant | unrelated related
asynchronous synchronous | async synchronous | sync synchronous
deprecated current
empty filled
private public
sorted ordered | unsorted ordered | unordered ordered
ignores handles | ignored handled | handle handles
rejects accepts | rejected accepted | accept accepts
forbidden allowed | prohibited allowed | disallowed allowed | allows allowed | allow allowed | permits allowed
permitted allowed | denied allowed
harmless harmful | expired current
slow fast | slower faster | cheap expensive | hidden visible | offline online | indirect direct | dynamic static
remote local | private public | shallow deep | late early | cheaper dearer
 smaller larger | lower higher | fewer more | less more
"""
_AGREES = frozenset(
    "exists exist working work passes passed passing succeeds right accurate supports support have had contains "
    "contain includes include requires require needs need mandatory necessary needed eligible uses use initialized "
    "sync sorted handle accept allows allow permits permitted".split()
)
"""Those of the pairs that say the same."""
SAME: dict[str, str] = {}
"""A word as the one it is compared by: `missing` as `present`, which it denies, `requires` as `required`."""
NEGATES = frozenset(
    "aren cannot couldn didn doesn don hadn hasn haven isn neither never no nobody non none not nothing nowhere wasn "
    "weren without".split()
)
"""Words that turn a sentence round."""
DENIES = set(NEGATES)
"""These, and words that say the opposite of another one."""
for _pair in _PAIRS.replace("\n", "|").split("|"):
    if _pair.strip():
        _word, _plain = _pair.split()
        SAME[_word] = _plain
        if _word not in _AGREES:
            DENIES.add(_word)
SAME |= dict.fromkeys(DENIES - set(SAME), "")
EXCLUSIVE: dict[str, str] = {
    word: kind
    for kind, words in {
        "order": "pending processed shipped delivered cancelled",
        "colour": "red green blue black white yellow orange purple",
        "day": "monday tuesday wednesday thursday friday saturday sunday",
        "month": "january february april june july august september october november december",
        "cabin": "economy business",
        "tier": "gold silver bronze platinum",
        "direction": "ascending descending",
        "case": "uppercase lowercase",
        "truth": "true false",
        "kind": "list dict dictionary string tuple integer float boolean generator",
    }.items()
    for word in words.split()
}
"""By word the kind of state it is one of."""
