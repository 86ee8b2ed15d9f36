"""`deploy/up.sh` and `otel/up.sh`: what needs no container runtime is run, and what would be called fits the files."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
import yaml

from deploy import files
from reasonblocks import __version__

SCRIPTS = ("deploy/up.sh", "otel/up.sh")
RECORDER = '#!/bin/sh\necho "$(basename "$0") $*" >> "$RECORD"\n'
NOBODY = "unix:///nonexistent/docker.sock"


class Machine:
    """A copy of what the scripts use, where `docker` and `kubectl` write down how they were called and do nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = folder / "record"
        for name in ("deploy", "otel"):
            shutil.copytree(files.HOUSE / name, folder / name, ignore=shutil.ignore_patterns(".env"))
        self.programs = folder / "programs"
        self.programs.mkdir()
        for name in ("docker", "kubectl"):
            (self.programs / name).write_text(RECORDER)
            (self.programs / name).chmod(0o755)

    def call(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Call a script of this copy."""
        self.record.write_text("")
        path = f"{self.programs}:{os.environ['PATH']}"
        given = {"PATH": path, "RECORD": str(self.record), **variables}
        return subprocess.run(words, cwd=self.folder, env=given, capture_output=True, text=True, check=False)

    def called(self, *words: str, **variables: str) -> list[str]:
        """What a script that goes well calls."""
        done = self.call(*words, **variables)
        assert done.returncode == 0, done.stderr
        return self.record.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Somewhere without containers."""
    return Machine(tmp_path)


@pytest.mark.parametrize("script", SCRIPTS)
def test_without_a_word_it_says_what_there_is(machine: Machine, script: str) -> None:
    """And calls nothing; each thing it names can be asked for."""
    done = machine.call(script)
    assert (done.returncode, done.stdout, machine.record.read_text()) == (2, "", "")
    names = re.findall(rf"^{script} (\w+)", done.stderr, re.MULTILINE)
    (machine.folder / "secrets").touch()
    for name in names:
        assert machine.called(script, name, "secrets", HONEYCOMB_API_KEY="a-key")


def test_one_server_is_the_image_that_the_manifests_name(machine: Machine) -> None:
    """Built from the Containerfile, started with its data in a volume, on the port it has, and without rights."""
    build, run = machine.called("deploy/up.sh", "one")
    image = f"reasonblocks/rb-api:{__version__}"
    assert build == f"docker build -f deploy/Containerfile -t {image} ."
    assert run.endswith(f" --read-only --cap-drop ALL {image}")
    assert f":{files.image_environment()['REASONBLOCKS_DATA_DIR']} " in run
    assert files.container()["image"] == image


def test_a_fleet_gets_secrets_of_its_own_once(machine: Machine) -> None:
    """The first call makes them, for their owner only; another keeps them."""
    calls = machine.called("deploy/up.sh", "fleet")
    settings = machine.folder / "deploy" / ".env"
    made = settings.read_text()
    values = dict(line.split("=") for line in made.splitlines() if not line.startswith("#"))
    assert list(values) == re.findall(r"^(\w+)=", (files.DEPLOY / ".env.example").read_text(), re.MULTILINE)
    assert len(set(values.values())) == len(values) == 3
    assert all(re.fullmatch("[0-9a-f]{48}", value) for value in values.values())
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    assert machine.called("deploy/up.sh", "fleet") == calls
    assert settings.read_text() == made
    up, make_key = calls
    assert up == "docker compose -f deploy/compose.yaml up --build -d"
    service, *command = make_key.partition(" exec ")[2].split()
    assert service in files.compose()["services"]
    assert command == "reasonblocks keys create --org acme".split()


@pytest.mark.parametrize(
    ("name", "folder"), [("kubernetes", "deploy/kubernetes"), ("trial", "deploy/kubernetes-trial")]
)
def test_a_cluster_gets_its_namespace_and_secret_first(machine: Machine, name: str, folder: str) -> None:
    """Without a file of secrets nothing is called."""
    refused = machine.call("deploy/up.sh", name)
    assert (refused.returncode, machine.record.read_text()) == (2, "")
    assert "secret.example.yaml" in refused.stderr
    (machine.folder / "rb-api.env").touch()
    assert machine.called("deploy/up.sh", name, "rb-api.env") == [
        "kubectl apply -f deploy/kubernetes/namespace.yaml",
        "kubectl -n reasonblocks create secret generic rb-api --from-env-file=rb-api.env",
        f"kubectl apply -k {folder}",
    ]


def test_honeycomb_needs_a_key(machine: Machine) -> None:
    """The collector would start without one and deliver nothing."""
    assert "HONEYCOMB_API_KEY" in machine.call("otel/up.sh", "both").stderr
    assert machine.called("otel/up.sh", "jaeger")[0].endswith(image_of("jaeger"))


def image_of(service: str) -> str:
    """The image that the compose file of `otel/` names."""
    compose = yaml.safe_load((files.HOUSE / "otel" / "compose.yaml").read_text())
    return str(compose["services"][service]["image"])


@pytest.mark.skipif(shutil.which("docker") is None, reason="there is no docker here")
@pytest.mark.parametrize("words", [("deploy/up.sh", "one"), ("otel/up.sh", "jaeger")], ids=" ".join)
def test_docker_itself_understands_what_it_is_told(words: tuple[str, ...], machine: Machine) -> None:
    """It looks at all options before it looks for a runtime, and a runtime is all it misses."""
    variables = {"HOME": str(machine.folder), "DOCKER_HOST": NOBODY, "DOCKER_BUILDKIT": "0"}
    done = machine.call(*words, PATH=os.environ["PATH"], **variables)
    assert done.returncode != 0
    assert f"Cannot connect to the Docker daemon at {NOBODY}" in done.stderr


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl here")
@pytest.mark.parametrize("folder", ["kubernetes", "kubernetes-trial"])
def test_kubectl_itself_puts_the_manifests_together(folder: str) -> None:
    """`apply -k` first does what `kustomize` does, which needs no cluster: every object is there, once."""
    done = subprocess.run(
        ["kubectl", "kustomize", str(files.DEPLOY / folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    made = [(each["kind"], each["metadata"]["name"]) for each in yaml.safe_load_all(done.stdout)]
    folders = {files.KUBERNETES, files.DEPLOY / folder}
    written = [
        (each["kind"], each["metadata"]["name"])
        for path, each in files.manifests()
        if path.parent in folders and each["kind"] not in ("Kustomization", "Secret")
    ]
    assert sorted(made) == sorted(written)
