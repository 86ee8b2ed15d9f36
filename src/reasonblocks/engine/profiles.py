"""Weight profiles: those that are built in, and those that an organisation makes for itself."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from .answers import Profile, Scorer
from .errors import Conflict, Forbidden, Invalid, NotFound
from .monitors.profiles import BUILT_IN_PROFILES, BuiltInProfile, Weights, clean_weights
from .monitors.suite import MonitorSuite
from .principal import Principal
from .requests import ProfileChange, ProfileCreate
from .store import tenants
from .store.changes import Notify, nobody, record
from .store.database import Database, asked_again
from .store.schema import profiles
from .store.transact import Transactions
from .store.values import dump, load, new_id, now, shown

MOST_PER_ORG = 100


class Profiles:
    """Keeps profiles, and has their weights at hand for evaluations on any thread."""

    def __init__(
        self, database: Database, transactions: Transactions, suite: MonitorSuite, notify: Notify = nobody
    ) -> None:
        self._database = database
        self._transactions = transactions
        self._suite = suite
        self._notify = notify
        self._at_hand: Mapping[tuple[str, str], Weights] = {}

    # -- for evaluations ---------------------------------------------------------------------------

    def custom(self, org_id: str, name: str) -> Weights | None:
        """The weights of an organisation's own profile; asks nobody, may be called from any thread."""
        return self._at_hand.get((org_id, name))

    async def refresh(self, changed: Collection[str] | None = None) -> None:
        """Take all profiles in again, whichever changed: at a start, and when another process may have changed one."""
        async with self._database.reading() as connection:
            rows = (await connection.execute(select(profiles))).all()
        self._at_hand = {(row.org_id, row.name): MappingProxyType(load(row.weights)) for row in rows}

    def scorers(self) -> list[Scorer]:
        """The monitors, with the weights they have if nobody says otherwise."""
        return self._suite.scorers()

    # -- for people --------------------------------------------------------------------------------

    async def create(self, principal: Principal, profile: ProfileCreate) -> Profile:
        """A new profile of the caller's org."""
        if profile.name in BUILT_IN_PROFILES:
            raise Forbidden(f"the profile {profile.name!r} is built in and read-only; choose another name")
        moment = now()
        row = {
            "profile_id": new_id("profile"),
            "org_id": principal.org(profile.org_id),
            "name": profile.name,
            "weights": dump(self._cleaned(profile.weights)),
            "description": profile.description or "",
            "created_at": moment,
            "updated_at": moment,
        }
        stored = await self._transactions.run(lambda connection: _insert(connection, row))
        await self._changed()
        return _shown(stored)

    @asked_again
    async def show(self, principal: Principal, profile_id: str, org_id: str | None = None) -> Profile:
        """A profile by its id; that of a built-in one is its name."""
        if profile_id in BUILT_IN_PROFILES:
            return _shown_built_in(BUILT_IN_PROFILES[profile_id])
        async with self._database.reading() as connection:
            return _shown(await connection.run_sync(_find, principal, profile_id, org_id))

    async def change(
        self, principal: Principal, profile_id: str, change: ProfileChange, org_id: str | None = None
    ) -> Profile:
        """Change a profile of the caller's org; new weights replace all old ones."""
        _refuse_built_in(profile_id)
        org_id = change.org_id or org_id
        values: dict[str, Any] = {"updated_at": now()}
        if change.weights is not None:
            values["weights"] = dump(self._cleaned(change.weights))
        if change.description is not None:
            values["description"] = change.description

        def work(connection: Connection) -> Any:
            _find(connection, principal, profile_id, org_id)
            connection.execute(update(profiles).where(profiles.c.profile_id == profile_id).values(values))
            record(connection, "profile", [profile_id])
            return _find(connection, principal, profile_id, org_id)

        stored = await self._transactions.run(work)
        await self._changed()
        return _shown(stored)

    async def delete(self, principal: Principal, profile_id: str, org_id: str | None = None) -> None:
        """Delete a profile of the caller's org; runs that name it are weighed by the defaults from then on."""
        _refuse_built_in(profile_id)

        def work(connection: Connection) -> None:
            _find(connection, principal, profile_id, org_id)
            connection.execute(delete(profiles).where(profiles.c.profile_id == profile_id))
            record(connection, "profile", [profile_id])

        await self._transactions.run(work)
        await self._changed()

    @asked_again
    async def list(self, principal: Principal, org_id: str | None = None) -> list[Profile]:
        """The built-in profiles, then those that the caller may see, by name."""
        query = select(profiles).order_by(profiles.c.org_id, profiles.c.name)
        org = principal.visible_org(org_id)
        if org is not None:
            query = query.where(profiles.c.org_id == org)
        async with self._database.reading() as connection:
            own = [_shown(row) for row in await connection.execute(query)]
        return [_shown_built_in(profile) for profile in BUILT_IN_PROFILES.values()] + own

    async def _changed(self) -> None:
        await self.refresh()
        self._notify()

    def _cleaned(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Weights as they count: unknown names are dropped, each is brought within its bounds."""
        return clean_weights(weights, self._suite.default_weights)


def _find(connection: Connection, principal: Principal, profile_id: str, org_id: str | None) -> Any:
    org = principal.visible_org(org_id)
    row = connection.execute(select(profiles).where(profiles.c.profile_id == profile_id)).one_or_none()
    if row is None or (org is not None and row.org_id != org):
        raise NotFound(f"unknown profile {profile_id!r:.80}; the list of profiles has those there are")
    return row


def _insert(connection: Connection, row: dict[str, Any]) -> Any:
    own = profiles.c.org_id == row["org_id"]
    if connection.execute(select(profiles.c.name).where(own, profiles.c.name == row["name"])).first():
        raise Conflict(f"there is a profile {row['name']!r} already; change that one, or choose another name")
    if connection.execute(select(func.count()).select_from(profiles).where(own)).scalar_one() >= MOST_PER_ORG:
        raise Invalid(f"there are {MOST_PER_ORG} profiles already, and no more are kept; delete one first")
    tenants.ensure(connection, [(row["org_id"], None)], row["created_at"])
    connection.execute(insert(profiles), row)
    record(connection, "profile", [row["profile_id"]])
    return connection.execute(select(profiles).where(profiles.c.profile_id == row["profile_id"])).one()


def _refuse_built_in(profile_id: str) -> None:
    if profile_id in BUILT_IN_PROFILES:
        raise Forbidden(f"the profile {profile_id!r} is built in and read-only; create one of your own")


def _shown(row: Any) -> Profile:
    return Profile(
        id=row.profile_id,
        name=row.name,
        weights=load(row.weights),
        description=row.description,
        built_in=False,
        org_id=row.org_id,
        created_at=shown(row.created_at),
        updated_at=shown(row.updated_at),
    )


def _shown_built_in(profile: BuiltInProfile) -> Profile:
    return Profile(
        id=profile.name,
        name=profile.name,
        weights=dict(profile.weights),
        description=profile.description,
        built_in=True,
        org_id=None,
        created_at=None,
        updated_at=None,
    )
