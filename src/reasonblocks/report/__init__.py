"""A replay and its labels as one page: how well the monitors tell failing runs from healthy ones, where they err."""
