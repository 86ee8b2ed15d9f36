#!/usr/bin/env bash
# Starts something that shows traces, in containers. That needs a container runtime, and the tests ran where there is none:
# they check what would be called against the other files.
#
#   otel/up.sh jaeger       Jaeger alone; it takes OTLP at http://localhost:4318
#   otel/up.sh collector    a collector there, and Jaeger behind it
#   otel/up.sh both         Honeycomb behind it, too; HONEYCOMB_API_KEY is yours
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
    jaeger) docker run --rm -d -p 16686:16686 -p 4318:4318 jaegertracing/jaeger:2.21.0 ;;
    collector) docker compose -f otel/compose.yaml up -d ;;
    both)
        : "${HONEYCOMB_API_KEY:?is the key that Honeycomb has given you}"
        ALSO=honeycomb docker compose -f otel/compose.yaml up -d
        ;;
    *)
        sed -n "s/^#   //p" otel/up.sh >&2
        exit 2
        ;;
esac
