"""The parts beneath, without anything of ours around them: the monitors, a query of the index, an INSERT."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as edge
from numpy.typing import NDArray
from serving.costs import Beside, Costs
from serving.filling import Planned
from sqlalchemy import Table
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.schema import CreateTable

from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.registry import load_monitors
from reasonblocks.engine.monitors.suite import MonitorSuite, SuiteReading


class BareMonitors:
    """The monitors over one trajectory."""

    def __init__(self) -> None:
        self._suite = MonitorSuite(load_monitors())
        self.costs = Costs()
        """Of a step."""

    def beside(self, steps: Sequence[ObservedStep]) -> Beside:
        """The steps of a run, each observed beside a request."""
        trajectory = self._suite.start()
        return Beside(lambda place: trajectory.observe(steps[place]), self.costs)

    def read(self, steps: Sequence[ObservedStep]) -> list[SuiteReading]:
        """Have the steps of a run observed, one after another."""
        trajectory = self._suite.start()
        with self.costs.here(len(steps)):
            return [trajectory.observe(step) for step in steps]


class BareIndex:
    """A shard with the same points, asked without a thread, a gate or a catalogue."""

    def __init__(self, path: Path, planned: Sequence[Planned], dimension: int) -> None:
        path.mkdir()
        self._shard = edge.EdgeShard.create(str(path), _configuration(dimension))
        for name in ("tier", "failure_type"):
            self._shard.update(edge.UpdateOperation.create_field_index(name, edge.PayloadSchemaType.Keyword))
        points = [_point(number, pattern) for number, pattern in enumerate(planned)]
        for start in range(0, len(points), 500):
            self._shard.update(edge.UpdateOperation.upsert_points(points[start : start + 500]))

    def query(
        self, tier: str, failure_type: str | None, vector: NDArray[np.float32], limit: int, least: float
    ) -> list[edge.ScoredPoint]:
        """The nearest to a vector."""
        must: list[edge.ConditionType] = [edge.FieldCondition("tier", match=edge.MatchValue(tier))]
        if failure_type is not None:
            must.append(edge.FieldCondition("failure_type", match=edge.MatchValue(failure_type)))
        return self._shard.query(
            edge.QueryRequest(
                limit=limit,
                query=edge.Query.Nearest(vector.tolist()),
                filter=edge.Filter(must=must),
                score_threshold=least,
                with_payload=True,
                with_vector=False,
            )
        )

    def close(self) -> None:
        """Let go of the files."""
        self._shard.close()


def _configuration(dimension: int) -> edge.EdgeConfig:
    """As the engine has it; what comes by default is slower here."""
    return edge.EdgeConfig(
        vectors=edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Cosine, memory=edge.Memory.Cold),
        payload_memory=edge.Memory.Cold,
        optimizers=edge.EdgeOptimizersConfig(default_segment_number=1, indexing_threshold=2**31),
        max_search_threads=1,
        wal_enabled=False,
    )


def _point(number: int, pattern: Planned) -> edge.Point:
    payload: edge.Payload = {"tier": pattern.tier}
    if pattern.failure_type is not None:
        payload["failure_type"] = pattern.failure_type
    return edge.Point(number, pattern.vector.tolist(), payload)


class BareInsert:
    """Rows into one of the tables, as the driver takes them, in one transaction."""

    def __init__(self, path: Path, table: Table) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(str(CreateTable(table, include_foreign_key_constraints=[]).compile(dialect=dialect())))
        names = [column.name for column in table.columns]
        self._sql = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        self.costs = Costs()
        """Of a batch."""

    def insert(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Store them."""
        with self.costs.here(1):
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(self._sql, rows)
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
