"""Write the vectors of the starter library that come with the package, so that a first start embeds nothing.

    python benchmarks/starter_vectors.py

To be run whenever the texts of the library, or how they are embedded, have changed; a test says so.
"""

import argparse
from pathlib import Path

from reasonblocks.engine.embedding.adapter import resolve_embedder
from reasonblocks.engine.index.shipped import encoded, shipped_file
from reasonblocks.engine.patterns.fields import embedding_text
from reasonblocks.engine.patterns.library import load_library
from reasonblocks.engine.store.values import digest


def main() -> None:
    """Embed every pattern of the library that is compared with anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--embeddings", default=None, help="an embedder as `embeddings=` takes it; the default is ours")
    embedder = resolve_embedder(parser.parse_args().embeddings)
    texts = sorted({text for each in load_library().patterns if (text := embedding_text(each.tier, each.fields))})
    vectors = dict(zip(map(digest, texts), embedder.embed(texts), strict=True))
    file = Path(str(shipped_file(embedder.name)))
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(encoded(embedder.name, embedder.dimension, vectors))
    print(f"{len(vectors)} vectors of {embedder.name} in {file.name}, {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
