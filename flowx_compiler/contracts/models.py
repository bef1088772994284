"""The schema of a model."""

from __future__ import annotations

from flowx_compiler.contracts.annotations import Annotations
from flowx_compiler.contracts.bodies import Body
from flowx_compiler.contracts.configuration import Configuration, read_configuration
from flowx_compiler.contracts.discriminators import Tag
from flowx_compiler.contracts.members import PublishedMember, Unreadable, object_schema, published_member, written
from flowx_compiler.contracts.shape import OPAQUE, Schema


def model_schema(body: Body, annotations: Annotations, *, despite_code: bool = False) -> Schema:
    """The schema of a model: what is accepted on its way in.

    Args:
        body: what its class statements say.
        annotations: derives types.
        despite_code: give what its annotations say even where code makes that a guess; not for publishing.
    """
    configuration = read_configuration(body.settings)
    reason = body.opaque or body.verdicts.whole or configuration.opaque
    if reason and not despite_code:
        return {OPAQUE: reason}
    members: dict[str, PublishedMember] = {}
    for name, declared in body.members.items():
        member = published_member(declared, configuration, annotations, "" if despite_code else body.verdicts.of(name))
        if isinstance(member, Unreadable):
            return {OPAQUE: member.reason}
        if member is not None:
            members[name] = member
    if body.is_root:
        return members["root"].schema if "root" in members else {}
    schema = object_schema(members)
    if configuration.extra != "ignore":
        schema["additionalProperties"] = configuration.extra == "allow"
    return schema


def tag_of(body: Body | None, member: str) -> Tag | None:
    """The member of a model that tells it from others."""
    declared = None if body is None else body.members.get(member)
    if body is None or declared is None:
        return None
    configuration: Configuration = read_configuration(body.settings)
    name = written(declared).name(configuration)
    return None if name is None else Tag(declared.annotation, declared.where, name)
