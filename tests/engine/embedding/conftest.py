"""The scripts of the calibration, which are no part of the package."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[3] / "benchmarks" / "calibration"


def _script(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module  # dataclasses look their module up, and the scripts import each other
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def situations() -> ModuleType:
    """The texts that similarity is calibrated on."""
    return _script("situations")


@pytest.fixture(scope="session")
def fit(situations: ModuleType) -> ModuleType:
    """The script that fits a calibration."""
    _script("figures")
    _script("contexts")
    return _script("fit")
