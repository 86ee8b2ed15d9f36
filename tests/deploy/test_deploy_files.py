"""What `deploy/` holds works, as far as can be told without a container runtime: no image was built for these tests."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy import files
from reasonblocks import __version__
from reasonblocks.commands.root import reasonblocks
from reasonblocks.engine.engine import Engine
from reasonblocks.engine.index.cluster.settings import QdrantOptions
from reasonblocks.engine.settings import EngineSettings
from reasonblocks.server.app import create_app
from reasonblocks.server.crew import CLOSE_SECONDS
from reasonblocks.server.settings import PREFIX, ServerSettings
from support.parts import WordEmbeddings

PORT = 8484
PINNED = re.compile(r"[a-z0-9./-]+:v?\d+\.\d+(\.\d+)?(-[a-z0-9.-]+)?")
SECRET = re.compile(r"PASSWORD|KEY|SECRET|TOKEN|DATABASE_URL")
GIVEN = re.compile(r"\$\{([A-Z_]+):\?[^}]+\}")
"""A variable without which compose refuses to start."""
SETTINGS = {f"{PREFIX}{field.name.upper()}" for field in fields(ServerSettings)}
OTHERS = {f"{PREFIX}QDRANT_{field.name.upper()}" for field in fields(QdrantOptions)}


def servers() -> dict[str, dict[str, Any]]:
    """Those of the compose file that are rb-api."""
    found = files.compose()["services"]
    return {name: service for name, service in found.items() if name.startswith("rb-api")}


def environments() -> dict[str, Mapping[str, str]]:
    """Every set of variables that an rb-api is given, with all of them filled in."""
    image = files.image_environment()
    filled = {
        name: GIVEN.sub("given0123456789abcdef", value).replace("${WORKERS:-1}", "2")
        for name, value in next(iter(servers().values()))["environment"].items()
    }
    pods = {**files.manifest("ConfigMap")["data"], **files.manifest("Secret")["stringData"]}
    return {"image": image, "compose": image | filled, "kubernetes": image | pods}


# -- settings and commands ---------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["image", "compose", "kubernetes"])
def test_every_variable_is_a_setting_and_every_value_works(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is started with them takes them all: none is misspelt, none is refused."""
    given = environments()[place]
    ours = {name for name in given if name.startswith(PREFIX)}
    assert ours <= SETTINGS | OTHERS
    for name in ours:
        monkeypatch.setenv(name, given[name])
    settings = ServerSettings.from_environment()
    assert (settings.host, settings.port) == ("0.0.0.0", PORT)
    engine = settings.engine()
    assert (place == "image") == (engine.qdrant_url is None) == (engine.database_url is None)
    assert (place == "image") == (settings.data_dir is not None), "with a database server nothing is written here"


@pytest.mark.parametrize(
    "command",
    [files.image_command(), [files.image_command()[0], *files.container()["args"]]],
    ids=["image", "kubernetes"],
)
def test_every_command_is_one_that_we_have(command: list[str]) -> None:
    """By the parser itself."""
    program, name, *arguments = command
    assert program == "reasonblocks"
    found = reasonblocks.get_command(click.Context(reasonblocks), name)
    assert found is not None
    found.make_context(name, arguments)


@pytest.mark.parametrize(
    "page", [files.DEPLOY / "compose.yaml", files.DEPLOY / ".env.example"], ids=lambda page: page.name
)
def test_commands_in_comments_are_ours(page: Path) -> None:
    """What a reader is told to type inside a container can be typed."""
    told = re.findall(r"exec rb-api-\d reasonblocks (.+)", page.read_text())
    assert told
    for line in told:
        group, name, *arguments = line.split()
        command = reasonblocks.get_command(click.Context(reasonblocks), group)
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found is not None
        found.make_context(name, arguments)


async def test_every_probe_is_answered() -> None:
    """Each path that a probe or a balancer asks for is there, without a key, and good when all is well."""
    probes = [files.container()[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness", "liveness")]
    probes += re.findall(r"health_uri (\S+)", (files.DEPLOY / "Caddyfile").read_text())
    probes += re.findall(r"(/health)\b", " ".join(files.health_check()))
    assert sorted(set(probes)) == ["/health", "/ready"]
    engine = await Engine.open(EngineSettings(embeddings=WordEmbeddings()))
    try:
        app = create_app(ServerSettings(), engine)
        transport = httpx.ASGITransport(app)
        async with app.lifespan(), httpx.AsyncClient(transport=transport, base_url="http://pod:8484") as client:
            assert {path: (await client.get(path)).status_code for path in probes} == dict.fromkeys(probes, 200)
    finally:
        await engine.aclose()


def test_all_agree_on_the_port() -> None:
    """The image, what is in front of it, and every manifest."""
    assert files.instruction("EXPOSE") == str(PORT)
    upstreams = re.findall(r"(rb-api-\d):(\d+)", (files.DEPLOY / "Caddyfile").read_text())
    assert {name for name, _ in upstreams} == set(servers())
    assert {port for _, port in upstreams} == {str(PORT)}
    assert files.compose()["services"]["front"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    (port,) = files.container()["ports"]
    assert port == {"name": "http", "containerPort": PORT}
    (served,) = files.manifest("Service")["spec"]["ports"]
    assert (served["port"], served["targetPort"]) == (PORT, port["name"])
    probes = [files.container()[f"{kind}Probe"]["httpGet"]["port"] for kind in ("startup", "readiness", "liveness")]
    assert set(probes) == {port["name"]}
    assert "--port" not in files.container()["args"] or str(PORT) in files.container()["args"]


# -- images and secrets ------------------------------------------------------------------------------


def test_every_image_is_pinned_and_ours_is_this_version() -> None:
    """No image is whatever is newest today."""
    bases = [each.rest.split()[0] for each in files.containerfile() if each.word == "FROM"]
    assert len(set(bases)) == 1, "what was built for one base runs on another"
    composed = [service["image"] for service in files.compose()["services"].values()]
    containers = [
        each["image"]
        for _, found in files.manifests()
        for each in found.get("spec", {}).get("template", {}).get("spec", {}).get("containers", [])
    ]
    images = [*bases, *composed, *containers]
    assert [image for image in images if not PINNED.fullmatch(image)] == []
    ours = {image for image in images if "rb-api" in image}
    assert ours == {f"reasonblocks/rb-api:{__version__}"}
    for name in ("postgres", "qdrant"):
        assert len({image for image in images if image.startswith(name)}) == 1


def test_no_secret_is_written_down() -> None:
    """Compose takes each from the environment and does not start without; manifests from a secret made elsewhere."""
    needed = set()
    for name, service in files.compose()["services"].items():
        for variable, value in service.get("environment", {}).items():
            if SECRET.search(variable):
                assert GIVEN.search(value), f"{name}: {variable}"
                needed |= set(GIVEN.findall(value))
    example = dict(re.findall(r"^([A-Z_]+)=(.*)$", (files.DEPLOY / ".env.example").read_text(), re.MULTILINE))
    assert example == dict.fromkeys(needed, "")
    assert not [name for name in files.manifest("ConfigMap")["data"] if SECRET.search(name)]
    for value in files.manifest("Secret")["stringData"].values():
        assert re.search(r"\b[A-Z]+(_[A-Z]+)*\b", value), "a placeholder"
    listed = yaml.safe_load((files.KUBERNETES / "kustomization.yaml").read_text())["resources"]
    assert "secret.example.yaml" not in listed
    for _, found in files.manifests():
        for each in found.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            plain = [
                one["name"] for one in each.get("env", []) if SECRET.search(one["name"]) and "valueFrom" not in one
            ]
            assert plain == []


# -- the image ---------------------------------------------------------------------------------------


def test_what_the_image_copies_is_there_and_nothing_else_is_sent() -> None:
    """Each file that is copied exists and is let through to the build."""
    copied = [
        word
        for each in files.containerfile()
        if each.word == "COPY" and "--from" not in each.rest
        for word in each.rest.split()[:-1]
    ]
    let_through = re.findall(r"^!(\S+)", (files.DEPLOY / "Containerfile.dockerignore").read_text(), re.MULTILINE)
    assert sorted(copied) == sorted(let_through)
    assert all((files.HOUSE / name).exists() for name in copied)


def test_the_image_ends_without_tools_and_without_rights() -> None:
    """The last stage installs nothing, removes pip, and runs as a number that is not root's."""
    (last,) = [each.rest for each in files.containerfile() if each.word == "RUN" and each.stage == 2]
    assert "pip uninstall" in last
    assert not re.search(r"\b(pip install|apt|apt-get|gcc|curl|wget)\b", last)
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", files.instruction("USER"))
    user = int(files.instruction("USER").split(":")[0])
    assert f"--uid {user} " in last
    assert (files.pod()["securityContext"]["runAsUser"], files.pod()["securityContext"]["runAsNonRoot"]) == (user, True)
    assert (
        files.image_environment()["REASONBLOCKS_DATA_DIR"]
        == files.instruction("VOLUME")
        == files.instruction("WORKDIR")
    )


def test_the_image_holds_what_was_tested() -> None:
    """Its extras exist, what they need has an exact version in the constraints, and pip is told to keep to those."""
    (installed,) = [each.rest for each in files.containerfile() if "[server" in each.rest]
    assert "--constraint constraints.txt" in installed
    extras = set(re.findall(r"\[(.*?)\]", installed)[0].split(","))
    known = tomllib.loads((files.HOUSE / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras == {"server", "postgres", "qdrant"} <= set(known)
    exact = {
        canonicalize_name(line.partition("==")[0])
        for line in (files.HOUSE / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    needed = {Requirement(line).name for extra in extras for line in known[extra]} - {"reasonblocks"}
    assert {canonicalize_name(name) for name in needed} <= exact


# -- compose and Kubernetes --------------------------------------------------------------------------


def test_compose_has_what_it_should_and_all_of_it_is_wired() -> None:
    """Two servers, PostgreSQL, Qdrant, and Jaeger by the compose file that `otel/` has; who depends on whom exists."""
    found = files.compose()
    (included,) = found["include"]
    others = yaml.safe_load((files.DEPLOY / included).read_text())["services"]
    assert set(found["services"]) == {"rb-api-1", "rb-api-2", "front", "postgres", "qdrant"}
    assert set(others) == {"jaeger", "collector"}
    ports = [port for service in (*found["services"].values(), *others.values()) for port in service.get("ports", [])]
    assert len(set(ports)) == len(ports)
    assert all(port.startswith("127.0.0.1:") for port in ports), "open to this machine alone"
    for service in found["services"].values():
        assert set(service.get("depends_on", ())) <= set(found["services"])
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert (files.DEPLOY / source).exists() if source.startswith(".") else source in found["volumes"]
    assert len({id(service["environment"]) for service in servers().values()}) == 1
    for service in servers().values():
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        assert (files.DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()


def test_a_server_has_the_time_to_end() -> None:
    """What it may take after SIGTERM is less than what it is given before it is killed."""
    settings = files.manifest("ConfigMap")["data"]
    needed = float(settings["REASONBLOCKS_SHUTDOWN_SECONDS"]) + CLOSE_SECONDS
    before = float(files.container()["lifecycle"]["preStop"]["exec"]["command"][1])
    assert files.pod()["terminationGracePeriodSeconds"] >= before + needed
    for service in servers().values():
        assert int(service["stop_grace_period"].removesuffix("s")) >= ServerSettings.shutdown_seconds + CLOSE_SECONDS


def test_the_database_takes_the_connections_of_all() -> None:
    """Of as many pods as there may be, one more during a roll-out, and of the servers of the compose file."""
    settings = files.manifest("ConfigMap")["data"]
    pool = sum(int(settings[f"REASONBLOCKS_POOL_{name}"]) for name in ("SIZE", "OVERFLOW")) + 1
    pods = files.manifest("HorizontalPodAutoscaler")["spec"]["maxReplicas"]
    surge = files.manifest("Deployment")["spec"]["strategy"]["rollingUpdate"]["maxSurge"]
    (database,) = files.manifest("StatefulSet", "postgres")["spec"]["template"]["spec"]["containers"]
    for arguments in (database["args"], files.compose()["services"]["postgres"]["command"]):
        (most,) = [int(word.partition("=")[2]) for word in arguments if word.startswith("max_connections=")]
        assert (pods + surge) * int(settings["REASONBLOCKS_WORKERS"]) * pool < most
        assert 4 * len(servers()) * pool < most, "with WORKERS=4"


def test_manifests_belong_together() -> None:
    """One namespace, labels that are selected, references that lead somewhere, all of it listed."""
    for path, found in files.manifests():
        if found["kind"] not in ("Namespace", "Kustomization"):
            assert found["metadata"]["namespace"] == "reasonblocks", path.name
        if found["kind"] == "Kustomization":
            assert all((path.parent / name).exists() for name in found["resources"])
        else:
            listed = yaml.safe_load((path.parent / "kustomization.yaml").read_text())["resources"]
            assert path.name in {*listed, "secret.example.yaml"}
        if found["kind"] in ("Deployment", "StatefulSet"):
            labels = found["spec"]["template"]["metadata"]["labels"]
            assert found["spec"]["selector"]["matchLabels"] == labels
            selectors = [each["spec"]["selector"] for _, each in files.manifests() if each["kind"] == "Service"]
            assert labels in selectors
    label = files.manifest("Deployment")["spec"]["selector"]["matchLabels"]
    assert files.manifest("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == label
    assert files.manifest("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]["name"] == "rb-api"
    assert "replicas" not in files.manifest("Deployment")["spec"], "the autoscaler decides"
    named = [reference[kind]["name"] for reference in files.container()["envFrom"] for kind in reference]
    assert named == [files.manifest("ConfigMap")["metadata"]["name"], files.manifest("Secret")["metadata"]["name"]]


def test_pods_are_shut_in() -> None:
    """No right, no file that could be written, no account; and no service whose name sets a variable of ours."""
    secured = files.container()["securityContext"]
    assert secured == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    for _, found in files.manifests():
        if found["kind"] in ("Deployment", "StatefulSet"):
            spec = found["spec"]["template"]["spec"]
            assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (False, False)
            assert spec["securityContext"]["runAsNonRoot"] is True
