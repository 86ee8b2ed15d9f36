"""Who asks, and whose data that makes visible."""

from dataclasses import dataclass

DEFAULT_ORG = "default"
DEFAULT_PROJECT = "default"


@dataclass(frozen=True, slots=True)
class Principal:
    """The holder of a key. Without an org of its own it is an admin, and the request says which org it means."""

    key_id: str
    org_id: str | None = None
    project_id: str | None = None

    @property
    def is_admin(self) -> bool:
        """Whether the request may name any org."""
        return self.org_id is None

    def org(self, asked: str | None = None) -> str:
        """The org to write to or to read in: the key's own, whatever is asked for; an admin's choice otherwise."""
        return self.org_id if self.org_id is not None else (asked or DEFAULT_ORG)

    def project(self, asked: str | None = None) -> str:
        """The project to write to, by the same rule."""
        return self.project_id if self.project_id is not None else (asked or DEFAULT_PROJECT)

    def visible_org(self, asked: str | None = None) -> str | None:
        """The org a listing is limited to; `None` for an admin who named none, and so sees all of them."""
        return self.org_id if self.org_id is not None else (asked or None)

    def visible_project(self, asked: str | None = None) -> str | None:
        """The project a listing is limited to, by the same rule; an org's key without a project sees all of its org."""
        return self.project_id if self.project_id is not None else (asked or None)


LOCAL = Principal(key_id="local", org_id=DEFAULT_ORG)
"""The one user of an embedded engine."""
