"""`reasonblocks demo`: a failing agent, caught and steered."""

import click


@click.command()
def demo() -> None:
    """Watch an agent run into a loop, and see it steered out of it. Offline, no key, nothing is kept."""
    from ..demo.story import tell

    tell(click.echo)
