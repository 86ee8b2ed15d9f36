"""The commands of `reasonblocks`, one module each."""
