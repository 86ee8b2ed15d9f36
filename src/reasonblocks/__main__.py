"""`python -m reasonblocks` is the command `reasonblocks`."""

from .cli import main

main()
