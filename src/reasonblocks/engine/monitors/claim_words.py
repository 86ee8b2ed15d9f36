"""The words that tell what a clause is: a claim, a plan, a guess or a fragment, and what it is about."""

from .opposites import EXCLUSIVE, NEGATES
from .words import word_set

STATES = frozenset(
    "accept accepts adds affects allow allows amounts appear appears applies are aren arrives asks becomes began "
    "begins being belongs blocks bought breaks broke brought builds caches calls came can cannot causes changes "
    "checks chose closes come comes compares completes consists contain contains controls converts copies cost costs "
    "counts cover covers creates date dates deals decides defaults defines deletes departs depend depends determines "
    "did didn do does doesn don drops earns emits employs enables ends exceeds executes exist exists expects expire "
    "expires exports extends fail failed fails fall falls feature features fell fetches fits fixes flew flies follows "
    "found gave generates gets gives goes got grants grew had handle handles has hasn have haven held hides holds "
    "hosts ignores implements imports include includes inherits inserts is isn keeps kept knew lack lacks lands lasts "
    "leads leaves led left lets lie lies limits links list lists live lives loads lock locks logs loses lost made "
    "makes maps marks match matches matter matters means meant measures mentions merges met modifies moves must need "
    "needs offers opens operates opts originates outputs override overrides overwrites own owns paid parses pass "
    "passed passes pays performs permits points preserves prevents prints processes produces protects provides pulls "
    "pushes puts qualifies qualify queries raise raises ran ranges reaches read reads receives records refers refunds "
    "registers rejects relies remain remains removes renders replaces reports represents require requires resets "
    "resolves respects restarts restricts return returns rose runs said sank sat saves say says scales selects sends "
    "sent serves sets shares ships show shows shrank sits skips sold solves sorts spans speaks specifies spends spent "
    "splits spoke stand stands start starts states stay stays stems stood stops store stores strips succeeds suit "
    "suits support supports survives swallows takes targets tells throws told took touches tracks travels treats "
    "triggers truncates turns unlocks updates use uses validates varies want wants was wasn weighs went were weren "
    "wins won work works wraps writes wrote yields".split()
)
"""Verbs that state something."""
NOT_A_CLAIM = frozenset(
    "another assume assuming became become becomes confirm could couldn either ensure ensures ensuring expect going "
    "guess hope imagine initially let likely may maybe might most often once perhaps please possibly presumably "
    "probably seem seems shall should shouldn some sometimes suggests suspect think until usually when will won would "
    "wouldn".split()
)
"""Plans and guesses, and what is said of some things only."""
CONDITIONS = frozenset("if suppose unless whether".split())
"""What a condition is about need not be so, nor what follows from it."""
GUESSES = frozenset(
    "about almost approximately around assume could estimate estimated if maybe might nearly perhaps roughly should "
    "suppose unless whether would".split()
)
"""A sentence with one of these does not say that something is so."""
POINTS_BACK = frozenset("he here how it she that these they this those what where which who why".split())
"""A clause that begins so is about whatever was at hand."""
WITH_NAMES = frozenset(("what",))
"""But not if it goes on to name things."""
LEADS_IN = frozenset(
    "and because but clearly given hence note now ok okay see since so then therefore thus well yes".split()
)
"""Words before a clause that say nothing about its subject."""
AUXILIARIES = frozenset("are can cannot did do had have were".split())
INDEFINITE = frozenset("a an".split())
SPEAKERS = frozenset("i we you".split())
KNOWS = frozenset("believe checked confirmed find found know learned note noticed saw see understand verified".split())
BEFORE_KNOWING = frozenset("already also can do have just now".split())
TELLS = frozenset("confirms indicates says shows tells".split())
TOLD = frozenset("me that us".split())
PERSONAL = frozenset("you your".split())
RANKS = frozenset([word for word, kind in EXCLUSIVE.items() if kind == "tier"])
"""What a person has one of, so that it is clear what is spoken of."""
ABILITY = frozenset("can cannot".split())
OURS = ABILITY | frozenset("have lack".split())
YOURS = ABILITY | frozenset("are booked bought have ordered own paid purchased qualify were".split())
ANY_ONE = word_set(
    "account address answer article assertion call case change class code command data date document entry "
    "exception field file flight function input item key line list method model module name number object order "
    "output page parameter passenger path payment product query record request reservation response result row script "
    "set site step table test ticket time type value variable version website word".split()
)
"""`The order is ...` is about another order after every lookup; next to a name some of these add nothing."""
FILLS = word_set(
    "above actually already appropriately basically certainly clear clearly completely correctly currently definitely "
    "entirely established evidently exactly fine fully here indeed note obviously one perfectly properly quite really "
    "remember shown simply thus truly well whatsoever".split()
) | word_set("are be been being can did do does had has have is must was were".split())
COUNTED = frozenset(
    "act appendix article attempt batch box case chapter chunk column day domain episode example exercise figure "
    "flight floor gate group index issue item iteration level line lines number option order page part phase point pr "
    "problem question room round row scene season seat section series stage step table task team terminal test ticket "
    "unit version volume".split()
)
"""A number after one of these is a name."""
TELLS_APART = frozenset(
    "all any both each every fifth first former fourth last latter left next old only other previous remaining rest "
    "same second third".split()
)
ATTRIBUTES = frozenset(
    "address age amount balance brand cabin carrier category code color colour cost country currency date deadline "
    "default destination duration email encoding fee format gender language length level license limit location "
    "material membership mode origin owner phone plan port price priority quantity rank rate size state status tax "
    "total type weight width zip".split()
)
"""What a thing has one of: two values for it exclude each other."""
NO_VALUE = NEGATES | frozenset(
    "a also an are as at be been by currently did do does for had has have here in is it its listed of on our shows "
    "the this to was were with works your".split()
)
LEADS_TO_A_NAME = frozenset("are at by from in inside is lies sits to under was were within".split())
DEFINITE = frozenset("our the your".split())
THE_ONE = DEFINITE | frozenset("everything what".split())
CHANGES_WITH_EVERY_LOOK = word_set(
    "class code command error example exception file function input key line message method module name next number "
    "output path result step test title url value".split()
)
"""`The error is X` is about another error every time."""
UNIQUE = frozenset(
    "breaks bug cause caused causes culprit defect fault problem regression responsible root where".split()
)
"""Of these a claim names the one place; another place cannot be it as well."""
BEFORE_OBJECTS = frozenset(
    "a all an any each every for how if it its my our that the these this those what where whether which who why "
    "your".split()
)
NO_VERB = frozenset(
    "about across after again against all also although among and are as at back because before behind besides "
    "between beyond both but by can despite did do does down during each even every except for from given had half "
    "has have hence here how if in inside instead into is it just like maybe near neither nevertheless no none nor "
    "not now of off ok okay on once one only onto or our out over per perhaps plus right since so some still such "
    "than that the then there they this though through thus too toward under unless until up upon via was we well "
    "what when where whereas which while who why with within without yes yet you your".split()
)
CASES = frozenset("as at during for in inside on under with within".split())
_SUPPOSES = frozenset("could couldn d might would wouldn".split())
OTHER_ONE = frozenset(
    "additional alternative available both cheapest current each every fifth first former fourth last latter left "
    "next old original originally other previous previously remaining replacement rest return second third".split()
)
"""`The new price` is another one than `the price`."""
LABELS = frozenset(
    "after alternative before behavior behaviour case current currently example expected hypothesis iteration new old "
    "option original originally previously scenario step".split()
)
"""What follows such a word and a colon holds in one case of several."""
NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), start=2)
}
HOW_MANY = {
    "one": "1",
    "single": "1",
    "sole": "1",
    **NUMBER_WORDS,
    **dict.fromkeys("dozens hundreds many multiple numerous several thousands".split(), "many"),
}
NO_UNIT = NEGATES | frozenset(
    "a after and are as at because been before but by can do does for from had has have here if in is it its on or "
    "per so than that the then there these this to under until was were when where which while will with".split()
)
BEFORE_UNITS = frozenset("about checked different distinct free more new of other separate such total".split())
BEFORE_YEARS = frozenset("around by circa from in of since year".split())
JOINS = frozenset("because given since so therefore which".split())
PLACED = frozenset("declared defined found implemented".split())
SHADES = frozenset("basic dark light partially premium".split())
QUALIFIES = frozenset("colour kind material".split())
"""Before a noun these tell one thing from another: `the blue box`."""
SWITCHED = frozenset("switched turned".split())


def supposes_a_case(words: list[str]) -> bool:
    """Whether a sentence begins with a case and says what would hold in it: `As an owner you would pay less.`

    Then not even the case need be so.
    """
    return words[0] in CASES and not _SUPPOSES.isdisjoint(words)
