"""Weight profiles: those built in, and an organisation's own."""

from litestar import delete, get, patch, post

from ...engine.answers import Profile
from ...engine.requests import ProfileChange, ProfileCreate
from ..request import ApiRequest
from .described import Deleted, IdInPath, JsonBody, OrgInQuery, refusals, within


@get(
    "/monitor/profiles",
    operation_id="list_profiles",
    summary="Weight profiles",
    tags=["profiles"],
    responses=refusals(422),
)
async def list_profiles(request: ApiRequest, org_id: OrgInQuery = "") -> list[Profile]:
    """Those built in, and one's own."""
    return await request.engine.profiles.list(request.principal, org_id or None)


@post(
    "/monitor/profiles",
    operation_id="create_profile",
    summary="A profile of one's own",
    tags=["profiles"],
    status_code=201,
    responses=refusals(403, 409, body=True),
)
async def create_profile(data: JsonBody[ProfileCreate], request: ApiRequest, org_id: OrgInQuery = "") -> Profile:
    """Its name can be used as `task_profile` from now on."""
    return await request.engine.profiles.create(request.principal, within(data, org_id))


@get(
    "/monitor/profiles/{profile_id:str}",
    operation_id="show_profile",
    summary="One profile",
    tags=["profiles"],
    responses=refusals(404, 422),
)
async def show_profile(request: ApiRequest, profile_id: IdInPath, org_id: OrgInQuery = "") -> Profile:
    """By its id."""
    return await request.engine.profiles.show(request.principal, profile_id, org_id or None)


@patch(
    "/monitor/profiles/{profile_id:str}",
    operation_id="change_profile",
    summary="Change a profile",
    tags=["profiles"],
    responses=refusals(403, 404, body=True),
)
async def change_profile(
    data: JsonBody[ProfileChange], request: ApiRequest, profile_id: IdInPath, org_id: OrgInQuery = ""
) -> Profile:
    """What is left out stays; those built in cannot be changed."""
    return await request.engine.profiles.change(request.principal, profile_id, within(data, org_id))


@delete(
    "/monitor/profiles/{profile_id:str}",
    operation_id="delete_profile",
    summary="Delete a profile",
    tags=["profiles"],
    status_code=200,
    responses=refusals(403, 404, 422),
)
async def delete_profile(request: ApiRequest, profile_id: IdInPath, org_id: OrgInQuery = "") -> Deleted:
    """Those built in cannot be deleted."""
    await request.engine.profiles.delete(request.principal, profile_id, org_id or None)
    return Deleted("deleted")


HANDLERS = (list_profiles, create_profile, show_profile, change_profile, delete_profile)
