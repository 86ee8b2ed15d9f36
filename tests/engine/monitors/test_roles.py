"""Roles: what a call does, told from its name and arguments, or declared."""

import pytest

from reasonblocks.engine.monitors.roles import Role, parse_roles, role_of
from reasonblocks.errors import SettingsError

COMMANDS = {
    "ls -la | head": {"looks"},
    "for f in *.py; do cat $f; done": {"looks"},
    "grep -n 'make test' Makefile": {"looks", "searches"},
    "sed -i 's/;pytest/x/' a.py": {"changes", "writes"},
    "cat <<'EOF' > run.py\npython setup.py test\nEOF": {"changes", "writes"},
    "cat <<'EOF' > a.py\nx\nEOF\npython a.py": {"changes", "writes", "runs"},
    "rm -rf build && tox -e py": {"changes", "runs"},
    "python - <<'EOF'\nopen('a.py', 'w').write('x')\nEOF": {"changes", "writes"},
    "python3 tools/update_config.py": {"changes", "writes"},
    "python3 tests/test_update.py": {"runs"},
    "pip install requests": {"changes"},
    "cd app && ./manage check": {"runs"},
    "echo SUBMIT_MY_WORK": {"looks", "ends"},
    "make && echo DONE": {"runs"},
}


def roles(role: Role) -> set[str]:
    """The names of what a call does."""
    return {name for name in Role.__struct_fields__ if getattr(role, name)}


@pytest.mark.parametrize(("command", "expected"), COMMANDS.items(), ids=COMMANDS)
def test_a_line_for_a_shell_does_what_its_commands_do(command: str, expected: set[str]) -> None:
    """Text that is only written or quoted is not run, and an edit by a script is no trial."""
    assert roles(role_of("bash", [command])) == expected


def test_a_description_beside_the_command_is_no_command() -> None:
    """Arguments that describe the call do not run anything."""
    assert roles(role_of("Bash", ["ls -la", "List all files", "5000"])) == {"looks"}


def test_a_name_that_asks_looks() -> None:
    """A tool that is named like a question changes nothing, whatever verb comes after."""
    assert roles(role_of("can_send_mail", [])) == {"looks"}
    assert roles(role_of("send_mail", [])) == {"changes"}


def test_results_have_to_prove_themselves_and_prose_does_not() -> None:
    """A table or a figure in a file is work; a manual is there to be read."""
    assert roles(role_of("write_file", ["out/mean.txt", "11.4"])) == {"changes", "writes"}
    assert roles(role_of("write_file", ["docs/guide.md", "Hello."])) == {"changes"}


def test_declared_roles_count_more_than_names() -> None:
    """A user knows better what a tool does."""
    declared = parse_roles({"get_rid_of": "changes", "probe": "looks + waits"})
    assert roles(role_of("get_rid_of", ["x"], declared)) == {"changes"}
    assert roles(role_of("probe", [], declared)) == {"looks", "waits"}
    assert roles(role_of("get_order", [], declared)) == {"looks"}


def test_a_declared_shell_does_what_it_is_told() -> None:
    """A tool that is declared to run things and nothing else is read by its command."""
    declared = parse_roles({"minion": "runs"})
    assert roles(role_of("minion", ["ls"], declared)) == {"looks"}
    assert roles(role_of("minion", ["pytest"], declared)) == {"runs"}


def test_several_calls_in_one_step_do_all_of_it() -> None:
    """Declared and inferred roles are joined."""
    declared = parse_roles({"zap": "changes+writes"})
    assert roles(role_of("zap,get_order", [], declared)) == {"changes", "writes"}


@pytest.mark.parametrize("declared", [{"zap": "destroys"}, {"zap": ""}, {"zap": "looks+"}, {"": "looks"}, {"zap": 3}])
def test_an_unknown_role_is_refused(declared: dict[str, str]) -> None:
    """The error names the value and what was expected."""
    with pytest.raises(SettingsError, match="expected"):
        parse_roles(declared)
