"""What a server can be started with, and what it says about the rest."""

from pathlib import Path
from typing import Any

import pytest

from reasonblocks.errors import SettingsError
from reasonblocks.secret import Secret, mask
from reasonblocks.server.settings import ServerSettings


def test_the_defaults_are_those_of_the_wire() -> None:
    """Loopback only, 5 MB, 2,000 a second and 4,000 at once, no origins, no static keys."""
    settings = ServerSettings()
    assert (settings.host, settings.port, settings.max_body) == ("127.0.0.1", 8484, 5_000_000)
    assert (settings.rate, settings.burst) == (2_000, 4_000)
    assert (settings.cors_origins, settings.keys) == ((), ())


def test_the_environment_sets_what_arguments_do_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Arguments first, then the environment, then the default."""
    values = {
        "HOST": "0.0.0.0",
        "PORT": "9000",
        "MAX_BODY": "1_000_000",
        "KEYS": " key1, key2 ,",
        "RATE": "5.5",
        "CORS_ORIGINS": "https://a.example,https://b.example",
        "KEEP_DAYS": "30",
        "LOG_LEVEL": "WARNING",
        "DATA_DIR": str(tmp_path),
    }
    for name, value in values.items():
        monkeypatch.setenv(f"REASONBLOCKS_{name}", value)
    settings = ServerSettings.from_environment(port=9001, host=None)
    assert (settings.host, settings.port, settings.max_body) == ("0.0.0.0", 9001, 1_000_000)
    assert [key.reveal() for key in settings.keys] == ["key1", "key2"]
    assert (settings.rate, settings.keep_days, settings.log_level) == (5.5, 30.0, "warning")
    assert settings.cors_origins == ("https://a.example", "https://b.example")
    assert settings.data_dir == tmp_path
    engine = settings.engine()
    assert (engine.data_dir, engine.static_keys, engine.keep_days) == (tmp_path, ("key1", "key2"), 30.0)


def test_memory_is_no_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """`:memory:` keeps nothing."""
    monkeypatch.setenv("REASONBLOCKS_DATA_DIR", ":memory:")
    assert ServerSettings.from_environment().data_dir is None


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"port": 65_536}, "port is 65536"),
        ({"port": True}, "port is True"),
        ({"host": " "}, "host is ' '"),
        ({"rate": 0}, "rate is 0"),
        ({"rate": float("nan")}, "rate is nan"),
        ({"burst": 0}, "burst is 0"),
        ({"max_body": 10}, "max_body is 10"),
        ({"max_connections": 0}, "max_connections is 0"),
        ({"max_streams": 0}, "max_streams is 0"),
        ({"keep_days": -1}, "keep_days is -1"),
        ({"stale_after": float("inf")}, "stale_after is inf"),
        ({"log_level": "loud"}, "log_level is 'loud'"),
        ({"cors_origins": ("app.example.com",)}, "cors_origins holds 'app.example.com'"),
        ({"cors_origins": ("https://app.example.com/path",)}, "cors_origins holds"),
    ],
)
def test_a_value_that_cannot_work_is_refused(given: dict[str, Any], named: str) -> None:
    """The error names the setting, the value and what was expected."""
    with pytest.raises(SettingsError, match=named) as refused:
        ServerSettings(**given)
    assert "expected" in str(refused.value)


def test_a_variable_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name in the environment."""
    monkeypatch.setenv("REASONBLOCKS_PORT", "eighty")
    with pytest.raises(SettingsError, match="REASONBLOCKS_PORT is 'eighty'"):
        ServerSettings.from_environment()


def test_a_setting_that_is_not_there_is_refused() -> None:
    """A slip of the pen is not ignored."""
    with pytest.raises(SettingsError, match="no setting prot"):
        ServerSettings.from_environment(prot=1)


def test_a_key_that_cannot_be_masked_is_refused_without_being_shown() -> None:
    """The error counts the keys instead of quoting one."""
    with pytest.raises(SettingsError, match="static key 2") as refused:
        ServerSettings(keys=(Secret("fine-key"), Secret('"secret\\')))
    assert "secret" not in str(refused.value).replace("static key", "")


def test_static_keys_never_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the settings' own text nor in anything that is masked."""
    monkeypatch.setenv("REASONBLOCKS_KEYS", "very-static-key")
    settings = ServerSettings.from_environment()
    assert "very-static-key" not in repr(settings)
    assert mask("a very-static-key b") == "a *** b"


def test_a_key_that_nobody_could_send_is_refused() -> None:
    """One over the length that is looked at would never be let in."""
    assert ServerSettings(keys=(Secret("k" * 512),)).keys
    with pytest.raises(SettingsError, match=r"static key 1 .* has 513 characters; expected 1 to 512"):
        ServerSettings(keys=(Secret("k" * 513),))
