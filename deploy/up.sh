#!/usr/bin/env bash
# Puts rb-api up in containers. What it calls, docker and kubectl, needs a container runtime or a cluster, and the tests ran
# where there is neither: they run the rest of this file, and check what would be called against the other files.
#
#   deploy/up.sh one                  one server; its data are in the volume `reasonblocks`
#   deploy/up.sh fleet                PostgreSQL, Qdrant, two servers and a balancer on this machine
#   deploy/up.sh kubernetes FILE      servers in a cluster; FILE has the secrets, as NAME=value
#   deploy/up.sh trial FILE           with a PostgreSQL and a Qdrant beside them, to try it out
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

one() {
    docker build -f deploy/Containerfile -t reasonblocks/rb-api:0.1.0 .
    docker run -d -p 127.0.0.1:8484:8484 -v reasonblocks:/var/lib/reasonblocks --read-only --cap-drop ALL reasonblocks/rb-api:0.1.0
}

fleet() {
    [ -e deploy/.env ] || new_secrets deploy/.env
    docker compose -f deploy/compose.yaml up --build -d
    docker compose -f deploy/compose.yaml exec rb-api-1 reasonblocks keys create --org acme
}

kubernetes() {
    in_a_cluster deploy/kubernetes "$@"
}

trial() {
    in_a_cluster deploy/kubernetes-trial "$@"
}

in_a_cluster() {
    [ -f "${2:-}" ] || { echo "name the file with the secrets; deploy/kubernetes/secret.example.yaml has what it needs" >&2; exit 2; }
    kubectl apply -f deploy/kubernetes/namespace.yaml
    kubectl -n reasonblocks create secret generic rb-api --from-env-file="$2"
    kubectl apply -k "$1"
}

# The example with every empty value filled in, for its owner only.
new_secrets() {
    (
        umask 077
        while IFS= read -r line; do
            case $line in
                \#*) echo "$line" ;;
                *=) echo "$line$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')" ;;
                *) echo "$line" ;;
            esac
        done <deploy/.env.example >"$1"
    )
    echo "$1 is new, with three secrets that nobody else has"
}

case ${1:-} in
    one | fleet | kubernetes | trial) "$@" ;;
    *)
        sed -n "s/^#   //p" deploy/up.sh >&2
        exit 2
        ;;
esac
