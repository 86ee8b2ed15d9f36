"""The shard of a process and what is known about it. Everything here belongs on the index thread."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...runtime.contain import incidents
from .shard import Hit, Point, Shard, Vector
from .slot import Marker, Slot

LEAST_WASTE = 10_000
"""Points whose room is lost before it is worth a rebuild; and no fewer than there are points."""


@dataclass(frozen=True)
class Recipe:
    """How vectors come about; an index made by another recipe is of no use."""

    model: str
    dimension: int
    texts: str
    """Identifies how texts are made from items."""


class Keeper:
    """A shard in a slot of its own, and beside it, while it is rebuilt, the one that will take its place."""

    def __init__(self, directory: Path | None, recipe: Recipe) -> None:
        self._directory = directory
        self._recipe = recipe
        self._slot: Slot | None = None
        self._shard: Shard | None = None
        self._name = ""
        self._building: tuple[str, Shard] | None = None
        self._former: Shard | None = None
        self.former_answers = False
        """Whether a shard that another recipe made is searched, until ours is complete."""
        self._removed = 0
        self._tainted = self._vouched = False

    def open(self) -> Marker | None:
        """Take a slot; what its shard holds, if there is one that can be trusted.

        One that another recipe made is kept beside ours, which is yet to be made (see `former_answers`).
        """
        self._slot = slot = Slot.take(self._directory)
        marker = slot.marker()
        if marker is None or not self._load(slot, marker):
            slot.clear()
            return None
        # Loading tidies up the files, so the marker may be wrong about them now; if so it is not believed either.
        if self._made_by_us(marker):
            self._name, self._removed = marker.shard, marker.removed
        else:
            self._former, self._shard, self.former_answers = self._shard, None, True
            slot.vouch(marker)  # it will not change, and another start before ours is complete needs it again
        return marker

    def supersede(self) -> None:
        """The former shard is not needed any more; it is let go of when the files are vouched for the next time."""
        self.former_answers = False
        self._taint()

    def _made_by_us(self, marker: Marker) -> bool:
        return Recipe(marker.model, marker.dimension, marker.recipe) == self._recipe

    def _load(self, slot: Slot, marker: Marker) -> bool:
        """Open the shard of a slot; one that another version of the shard's library wrote may not open."""
        try:
            self._shard = slot.open(marker)
            if self._shard.count() == marker.points:
                return True
            self._shard.close()
        except BaseException as error:  # a panic of Rust is no `Exception`
            incidents.note("opening the vector index", error)
        self._shard = None
        return False

    def begin_rebuild(self) -> None:
        """Make an empty shard; until it is finished the old one answers, if there is one."""
        assert self._slot is not None
        if self._building is not None:  # an earlier attempt failed
            self._building[1].close()
        self._building = self._slot.create(self._recipe.dimension)

    def finish_rebuild(self) -> None:
        """Put the new shard in the place of the old one."""
        assert self._building is not None
        old, (self._name, self._shard), self._building = self._shard, self._building, None
        self._removed = 0
        self._taint()
        if old is not None:
            old.close()

    def add(self, points: Sequence[Point]) -> None:
        """Put points into the shard that is being rebuilt."""
        assert self._building is not None
        self._building[1].upsert(points)

    def change(self, points: Sequence[Point], gone: Mapping[str, Sequence[str]]) -> None:
        """Put points in and take items out, by kind; in the new shard as well while there is one."""
        self._taint()
        for shard in filter(None, (self._shard, self._building and self._building[1])):
            for kind, item_ids in gone.items():
                shard.delete(kind, item_ids)
            shard.upsert(points)
        self._removed += sum(map(len, gone.values()))

    def _taint(self) -> None:
        if not self._tainted and not self.former_answers:  # whose marker is right about it
            assert self._slot is not None
            self._slot.taint()
            self._tainted, self._vouched = True, False

    def search_all(
        self,
        vectors: Sequence[Vector],
        scope: str,
        failure_type: str | None,
        limit: int,
        least_cosine: float | None,
    ) -> list[list[Hit]]:
        """As `Shard.search_all`, in what there is: while the first shard is made, in what is there of it."""
        shard = self._shard or (self._building and self._building[1])
        return shard.search_all(vectors, scope, failure_type, limit, least_cosine) if shard else [[] for _ in vectors]

    def search_former(
        self,
        vectors: Sequence[Vector],
        scope: str,
        failure_type: str | None,
        limit: int,
        least_cosine: float | None,
    ) -> list[list[Hit]]:
        """As `search_all`, in the shard of another recipe."""
        shard = self._former
        return shard.search_all(vectors, scope, failure_type, limit, least_cosine) if shard else [[] for _ in vectors]

    def count(self) -> int:
        """How many points there are."""
        return self._shard.count() if self._shard else 0

    def is_wasteful(self) -> bool:
        """Whether a rebuild would free more than it costs."""
        return self._removed > LEAST_WASTE and self._removed > self.count()

    def vouch(self, number: int, change: str) -> None:
        """Flush, and say that the shard holds everything up to a change."""
        if self._vouched or self._shard is None or self._slot is None or self.former_answers:
            return
        if self._former is not None:
            self._former.close()
            self._former = None
        self._shard.flush()
        self._slot.vouch(
            Marker(
                model=self._recipe.model,
                dimension=self._recipe.dimension,
                recipe=self._recipe.texts,
                number=number,
                change=change,
                points=self._shard.count(),
                removed=self._removed,
                shard=self._name,
                files={},
            )
        )
        self._tainted, self._vouched = False, True

    def close(self) -> None:
        """Let go of the shards and the slot."""
        for shard in filter(None, (self._shard, self._former, self._building and self._building[1])):
            shard.close()
        self._shard = self._former = self._building = None
        if self._slot is not None:
            self._slot.close()
            self._slot = None

    def forget(self) -> None:
        """After a fork, in the child: all of it is the parent's."""
        for shard in filter(None, (self._shard, self._former, self._building and self._building[1])):
            shard.abandon()
        self._shard = self._former = self._building = None
        if self._slot is not None:
            self._slot.forget()
            self._slot = None
