"""What the words of a stored lookup mean, in sentences for people. A word that is not one of ours is shown as it is."""

PASSES = "passes"


def query_of(tier: str, thoughts: int, failure_type: str | None) -> str:
    """What a lookup went by, and among what."""
    if not thoughts:
        return "all standing rules; they are compared with nothing" if tier == "e3" else "by no thought"
    among = f", among patterns about {failure_type}" if failure_type else ""
    return f"by the last {thoughts} thoughts{among}"


def rejected_because(reason: str, gate: float | None, failure_type: str | None, asked: str | None = None) -> str:
    """Why a pattern was not given."""
    below = "" if gate is None else f" of {gate:g}"
    sentences = {
        "gate": f"below the gate{below}",
        "own_gate": f"below its own gate{below}",
        "failure_type": f"waits until the monitors name {failure_type}",
        "top_k": "enough others came before it",
        "other_failure": f"is about {failure_type or 'no failure'}, not {asked}",
        "few_words": "too few words in common with any pattern to be compared",
    }
    return sentences.get(reason, reason or "rejected")


def not_compared_because(reason: str, tier: str, failure_type: str | None) -> str:
    """Why a lookup compared nothing."""
    about = f" about {failure_type}" if failure_type else ""
    sentences = {
        "no_context": "there was no thought to compare",
        "no_patterns": f"there was no {tier} pattern{about} to compare with",
        "few_words": "the thoughts have too few words in common with any pattern",
    }
    return sentences.get(reason, reason)
