"""`reasonblocks explain`: why a step went as it did."""

import click
import msgspec

from ..engine.errors import NotFound
from . import options
from .sources.base import run_meant
from .sources.choosing import Place, place


@click.command()
@click.argument("run")
@click.argument("step", type=click.IntRange(min=0), required=False)
@click.option(
    "--lookup", is_flag=True,
    help="Also compare with the patterns of now, whatever was found then; loads the embedder. Data directories only.",
)  # fmt: skip
@options.as_json
@place
def explain(run: str, step: int | None, lookup: bool, as_json: bool, place: Place) -> None:
    """Explain a stored run, or one STEP of it. Of RUN, the beginning of its id will do.

    What was decided before each model call and why: the words behind the score, the edge of the state machine, the
    monitors with their evidence, the E1 gate, what was looked up by what, found and rejected, and the block that was
    added, to the byte. What follows from stored text is calculated again; what is not stored is said to be so.
    """
    from .explaining.explain import explained
    from .explaining.lines import explanation_lines

    with place.open() as source:
        found = run_meant(source, run)
        explanation = explained(found, step)
        if step is not None and not explanation.steps:
            raise NotFound(
                f"run {found.run_id!r} has no step {step}; it has {_extent([s.step_index for s in found.steps])}"
            )
        if lookup:
            from .explaining.now import looked_up

            looked_up(source, found, explanation)
    if as_json:
        click.echo(options.json_text(msgspec.to_builtins(explanation)))
    else:
        options.echo(explanation_lines(explanation, options.width()))


def _extent(indexes: list[int]) -> str:
    return f"steps {indexes[0]} to {indexes[-1]}" if indexes else "none"
