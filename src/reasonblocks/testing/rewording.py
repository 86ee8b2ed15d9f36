"""The same question in other words: of searches, of greps, of a reader, and of the customer."""

import re

from ..recordings import RecordedStep
from .anatomy import subject_of
from .arguments import SHELL_KEYS, arguments_of, shell_command
from .doings import Doing
from .scene import Planted, Scene, again

_WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")
_GREP = re.compile(r"\b(?:grep|rg)((?:\s+-[\w-]+(?:=\S+)?|\s+-C ?\d+)*)\s+(\"[^\"]+\"|'[^']+'|[^\s\"'|-]\S*)")
_QUESTION = re.compile(r'"((?:[A-Z]\w+[,:]? )(?:[^"\n\\]+ ){5,}[^"\n\\]+)"')
"""A string of several words in a line of code."""
_READ = re.compile(
    r"^(?:cat|nl -ba|head -n ?\d+|less)\s+([\w./-]+\.\w+)$"
    r"|^(?:nl -ba|cat -n|cat) ([\w./-]+) \| sed -n ['\"]?(\d+),(\d+)p['\"]?$"
    r"|^sed -n ['\"]?(\d+),(\d+)p['\"]? ([\w./-]+)$"
)
_ASKED = (
    ("user ID", r"user id|user ID", r"\b[a-z]+_[a-z]+_\d{3,5}\b"),
    (
        "reservation number",
        r"reservation (?:id|ID|number|code)|confirmation (?:number|code)",
        r"\b(?=\w*\d)[A-Z0-9]{6}\b",
    ),
    ("order number", r"order (?:id|ID|number)", r"#?W\d{6,8}"),
    ("email", r"e-?mail", r"[\w.]+@[\w.]+\w"),
    ("zip code", r"zip", r"\b\d{5}\b"),
    ("phone number", r"phone number", r"\b\d{3}-\d{3}-\d{4}\b"),
)
_SMALL_WORDS = frozenset({"the", "a", "an", "of", "in", "for", "please"})
_SHORT = 10
"""Up to so many words a query is a handful of keywords, and their order says nothing."""
_ENOUGH = 3


def plant_reworded(scene: Scene) -> Planted | None:
    """One search, lookup or question in several wordings, with nothing new coming back."""
    makers = [_asked_again, _searched_again, _grepped_again, _read_again, _topic_again, _asked_in_code]
    scene.random.shuffle(makers)
    for maker in makers:
        planted = maker(scene)
        if planted is not None:
            return planted
    return None


def _searched_again(scene: Scene) -> Planted | None:
    anatomy = scene.anatomy
    places = []
    for at in anatomy.places(Doing.SEARCH, low=0.2, high=0.9):
        step = anatomy.steps[at]
        arguments = arguments_of(step)
        if arguments.main_key not in SHELL_KEYS and len(_WORD.findall(arguments.text)) >= 2:
            places.append(at)
    if not places:
        return None
    at = scene.pick(places)
    step = anatomy.steps[at]
    arguments = arguments_of(step)
    block = []
    times = scene.random.randint(3, 6)
    is_code = re.search(r"[=\\\[\](){}^$_|]", arguments.text) is not None and len(arguments.text) < 80
    for query in _patterns(scene, arguments.text, times) if is_code else variants(scene, arguments.text, times):
        result = step.observation or ""
        if not is_code:
            result = result.replace(arguments.text, query)
        made = again(step, scene.thought(scene.words.rephrased, it=shortened(query)), result)
        made.action_input = arguments.with_text(query)
        made.observation = equivalent(scene, made.observation or "")
        block.append(made)
    return scene.inserted(at + 1, block, "search") if len(block) >= _ENOUGH else None


def _asked_in_code(scene: Scene) -> Planted | None:
    """A question that is handed on by a line of code, put in other words."""
    anatomy = scene.anatomy
    places = [
        (at, max(found, key=len))
        for at in anatomy.places(Doing.OTHER, Doing.CHANGE, Doing.CHECK, low=0.2, high=0.9)
        if shell_command(anatomy.steps[at]) is None
        and "final_answer" not in arguments_of(anatomy.steps[at]).text
        and (found := _QUESTION.findall(arguments_of(anatomy.steps[at]).text))
    ]
    if not places or anatomy.shell is not None:
        return None
    at, question = scene.pick(places)
    step = anatomy.steps[at]
    block = []
    for other in variants(scene, question, scene.random.randint(3, 5)):
        made = again(step, scene.thought(scene.words.rephrased, it=shortened(other)))
        made.action_input = arguments_of(step).with_text(arguments_of(step).text.replace(question, other))
        made.observation = (step.observation or "").replace(question, other)
        block.append(made)
    return scene.inserted(at + 1, block, "question in code") if len(block) >= _ENOUGH else None


def _grepped_again(scene: Scene) -> Planted | None:
    anatomy = scene.anatomy
    places = [
        at
        for at in anatomy.places(Doing.SEARCH, low=0.2)
        if (command := shell_command(anatomy.steps[at])) and "\n" not in command and _GREP.search(command)
    ]
    if not places:
        return None
    at = scene.pick(places)
    step = anatomy.steps[at]
    command = shell_command(step) or ""
    found = _GREP.search(command)
    assert found is not None
    pattern = found[2].strip("\"'")
    block = []
    for other in _patterns(scene, pattern, scene.random.randint(3, 5)):
        flags = found[1] + (" -i" if scene.chance(0.3) and "-i" not in found[1] else "")
        made = again(step, scene.thought(scene.words.rephrased, it=other), equivalent(scene, step.observation or ""))
        made.action_input = arguments_of(step).with_text(command.replace(found[0], f'grep{flags} "{other}"', 1))
        block.append(made)
    return scene.inserted(at + 1, block, "grep") if len(block) >= _ENOUGH else None


def _topic_again(scene: Scene) -> Planted | None:
    """Something that the run speaks about, searched for in the files under one name after the other."""
    anatomy = scene.anatomy
    names = [name for name in anatomy.symbols if len(_words_of(name)) >= 2]
    if anatomy.shell is None or not names:
        return None
    name = scene.pick(names[:8])
    found = (
        ""
        if scene.chance(0.5) or not anatomy.sources
        else f"{anatomy.sources[0]}:{scene.random.randint(9, 900)}:{name}"
    )
    flags = scene.pick(("-rn", "-rni", "-R", "-rIn", "-ri"))
    queries = list(dict.fromkeys(_names(scene, _words_of(name))))
    if not found:  # what would find it is not asked
        queries = [query for query in queries if not re.search(query, name, re.IGNORECASE)]
    scene.random.shuffle(queries)
    block = []
    for query in queries[: scene.random.randint(3, 6)]:
        thought = scene.thought(scene.words.rephrased, it=query)
        block.append(scene.shell_step(thought, f'grep {flags} "{query}" {anatomy.folder}', found, fails=not found))
    size = len(anatomy)
    at = scene.random.randint(int(0.3 * size), max(int(0.3 * size), min(round(0.8 * size), size - 1)))
    return scene.inserted(at, block, "topic") if len(block) >= _ENOUGH else None


def _words_of(name: str) -> list[str]:
    """The words that a name in a program is made of."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]{2,}", name.rsplit(".", 1)[-1])]


def _patterns(scene: Scene, pattern: str, times: int) -> list[str]:
    """Patterns that find what this one finds."""
    bare = re.sub(r"^(?:def|class|import|from) ", "", pattern.strip("^$\\(). ")).strip("_")
    if len(bare) < 4:
        return []
    words = _WORD.findall(bare.replace("_", " ")) if re.fullmatch(r"[\w .]+", bare) else []
    plain = re.escape(bare).replace("\\ ", " ")
    options = [bare, f"{plain}.*", f"\\b{plain}\\b", f"{bare} *(", f"{bare[:-1]}[{bare[-1]}]", *_names(scene, words)]
    fresh = [option for option in dict.fromkeys(options) if option != pattern]
    scene.random.shuffle(fresh)
    return fresh[:times]


def _names(scene: Scene, words: list[str]) -> list[str]:
    """What something of these words may be called in a program."""
    if len(words) < 2:
        return []
    small = [word.lower() for word in words[:3]]
    other = [scene.pick(scene.words.synonyms[word]) if word in scene.words.synonyms else word for word in small]
    return [
        "_".join(small),
        "_".join(reversed(small)),
        "".join(word.title() for word in small),
        ".*".join(small),
        " ".join(small),
        "_".join([*small[:-1], small[-1].removesuffix("s") if small[-1].endswith("s") else f"{small[-1]}s"]),
        "_".join(word.replace(" ", "_") for word in other),
        " ".join(other),
    ]


def _read_again(scene: Scene) -> Planted | None:
    """The same lines of a file, shown by one command after the other."""
    anatomy = scene.anatomy
    places = [at for at in anatomy.places(Doing.READ) if _READ.match(shell_command(anatomy.steps[at]) or "")]
    if not places:
        return None
    at = scene.pick(places)
    step = anatomy.steps[at]
    command = shell_command(step) or ""
    found = _READ.match(command)
    assert found is not None
    block = []
    for other in _readers(scene, found)[: scene.random.randint(3, 5)]:
        if other != command:
            made = again(step, scene.thought(scene.words.once_more, it=subject_of(step)))
            made.action_input = arguments_of(step).with_text(other)
            block.append(made)
    return scene.inserted(at + 1, block, "read") if len(block) >= _ENOUGH else None


def _readers(scene: Scene, found: re.Match[str]) -> list[str]:
    whole, ranged, first, last, *rest = found.groups()
    file = whole or ranged or rest[2]
    low, high = (first or rest[0] or "1"), (last or rest[1] or "400")
    options = [
        f"sed -n '{low},{high}p' {file}",
        f'sed -n "{low},{high}p" {file}',
        f"head -n {high} {file} | tail -n +{low}",
        f"cat {file} | sed -n '{low},{high}p'",
        f"awk 'NR>={low} && NR<={high}' {file}",
        f"sed -n '{low},{high}p' ./{file}",
    ]
    if whole:
        options += [f"cat {file}", f"cat ./{file}", f"head -n 1000 {file}"]
    scene.random.shuffle(options)
    return options


def _asked_again(scene: Scene) -> Planted | None:
    """The customer is asked again for what was answered."""
    anatomy = scene.anatomy
    if not anatomy.is_dialogue:
        return None
    known = []
    for at in range(len(anatomy) - 2):
        step = anatomy.steps[at]
        for topic, asks, answers in _ASKED:
            answer = re.search(answers, step.observation or "") if not step.action else None
            if answer is not None and re.search(asks, step.thought or "") and topic in scene.words.questions:
                known.append((at, topic, answer[0]))
    if not known:
        return None
    at, topic, value = scene.pick(known)
    block = []
    for _ in range(scene.random.randint(3, 5)):
        question = scene.phrase(scene.words.questions[topic])
        reply = scene.phrase(scene.words.answered_again, value=value, topic=topic)
        block.append(RecordedStep(question, None, None, reply, False))
    later = [place + 1 for place in anatomy.places(Doing.TALK) if place > at]
    return scene.inserted(scene.pick([at + 1, *later]), block, f"asked for {topic}")


def variants(scene: Scene, text: str, times: int) -> list[str]:
    """The text in so many other wordings, none of them twice."""
    made: dict[str, None] = {}
    for _ in range(times * 6):
        other = _reworded(scene, text)
        if other.casefold() != text.casefold():
            made.setdefault(other)
        if len(made) == times:
            break
    return list(made)


def _reworded(scene: Scene, text: str) -> str:
    """One other wording: synonyms first, then the order, then words that say nothing."""
    known = [word for word in _WORD.findall(text) if word.lower() in scene.words.synonyms]
    for word in known:
        if scene.chance(0.6):
            other = scene.pick(scene.words.synonyms[word.lower()])
            text = re.sub(rf"\b{re.escape(word)}\b", other, text, count=1)
    words = text.split(" ")
    if 3 <= len(words) <= _SHORT and scene.chance(0.35):
        cut = scene.random.randint(1, len(words) - 1)
        words = [*words[cut:], *words[:cut]]
    if scene.chance(0.4):
        words = [word for word in words if word.lower() not in _SMALL_WORDS] or words
    text = " ".join(words)
    if scene.chance(0.5 if known else 0.9):
        around = [filler for filler in scene.words.fillers if len(words) <= _SHORT or filler.startswith("{query} ")]
        text = scene.pick(around).format(query=text)
    return text


def equivalent(scene: Scene, observation: str) -> str:
    """The same result, at most in another order."""
    lines = observation.split("\n")
    inner = [
        at for at in range(2, len(lines) - 3) if lines[at].strip() and lines[at + 1].strip() and "{" not in lines[at]
    ]
    if len(lines) < 8 or not inner or scene.chance(0.6):
        return observation
    at = scene.pick(inner)
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return "\n".join(lines)


def shortened(text: str, most: int = 60) -> str:
    """The beginning of a text."""
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0]
