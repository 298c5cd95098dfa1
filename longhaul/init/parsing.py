"""Parses the text of an answer, and checks it at once with the environment's own types.

Every function here raises ``ValueError`` with a message for a person: what is wrong, and what to write.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from longhaul.init.answers import CloudSite, GatewayAnswer, HostAnswer, HostsAnswer, PrincipalKind, Rack
from longhaul.init.sizes import SIZES, SizeAnswer

if TYPE_CHECKING:
    from clouds.base.section import Section

PRINCIPALS: dict[str, PrincipalKind] = {"user": "user", "service": "service"}
_KEY_TYPES = ("ssh-", "ecdsa-")
DEFAULT_ZONES = {"azure": "1,2,3", "aws": "a,b"}
"""Zones of a site when none are given."""
YES, NO = ("y", "yes"), ("n", "no")


def of_field(section: type[Section], field: str, text: str) -> str:
    """Check ``text`` as the value of a section's field, and return it."""
    from pydantic import TypeAdapter, ValidationError

    info = section.model_fields[field]
    declared: Any = Annotated[info.annotation, info]
    adapter: TypeAdapter[Any] = TypeAdapter(declared)
    try:
        adapter.validate_python(text)
    except ValidationError:
        raise ValueError(f"{text!r} is not {_words(adapter.json_schema())}") from None
    return text


def _words(schema: dict[str, Any]) -> str:
    """Describe a valid value. For an optional value, describe the first of its choices."""
    first: dict[str, Any] = next(iter(schema.get("anyOf", ())), schema)
    described = first.get("patternErrorMessage") or f"text that matches {first.get('pattern')}"
    example = schema.get("examples", first.get("examples", ()))
    return f"{described}, for example {example[0]}" if example and "for example" not in described else str(described)


def name(text: str) -> str:
    """Parse an environment's name."""
    from components.model.environment import Environment
    from contract.project import OBJECTS

    if text.endswith(OBJECTS):
        raise ValueError(f"{text!r} ends with {OBJECTS!r}, like the names of second stacks: choose another name")
    return of_field(Environment, "name", text)


def domain(text: str) -> str:
    """Parse a private DNS zone."""
    from components.model.environment import Environment

    return of_field(Environment, "domain", text)


def network(text: str) -> IPv4Network:
    """Parse an IPv4 range; a single address is a /32."""
    try:
        return IPv4Network(text)
    except ValueError:
        pass
    try:
        write = str(IPv4Network(text, strict=False))
    except ValueError:
        write = "for example 198.51.100.0/24"
    raise ValueError(f"{text!r} is not an IPv4 range: write {write}")


def supernet(text: str, *, taken: Mapping[IPv4Network, str]) -> IPv4Network:
    """Parse the environment's range, which must not overlap the ranges in ``taken``, each with its owner."""
    from clouds.base.ranges import PRIVATE
    from components.model.network.free_range import free

    block = network(text)
    if block.prefixlen > 16:
        raise ValueError(f"{block} is smaller than /16")
    if not any(block.subnet_of(private) for private in PRIVATE):
        raise ValueError(f"{block} is not private: choose inside one of {', '.join(map(str, PRIVATE))}")
    clashes = [f"{range_} of {owner}" for range_, owner in taken.items() if block.overlaps(range_)]
    if clashes:
        offered = free(taken, prefix=block.prefixlen)
        instead = f"{offered} is free" if offered else f"no private /{block.prefixlen} is free"
        raise ValueError(f"{block} overlaps {' and '.join(clashes)}: {instead}")
    return block


def operators(text: str) -> IPv4Network:
    """Parse a public range from which people and CI connect."""
    from clouds.base.ranges import OPERATORS, why_not_operators

    block = network(text)
    wrong = why_not_operators(block)
    if wrong:
        raise ValueError(f"{block} {wrong}: give {OPERATORS}")
    return block


def officer(text: str) -> tuple[str, PrincipalKind]:
    """Parse object id and kind of a principal that runs `up`: ``ID user`` or ``ID service``."""
    from clouds.base.section import Uuid

    identifier, _, kind = text.replace("=", " ").strip().partition(" ")
    if kind.strip() not in PRINCIPALS:
        raise ValueError(f"{text!r} is not an object id and `user` or `service`")
    return _uuid(identifier, Uuid), PRINCIPALS[kind.strip()]


def uuid(text: str) -> str:
    """Parse an id that Azure assigns, a UUID."""
    from clouds.base.section import Uuid

    return _uuid(text, Uuid)


def _uuid(text: str, kind: Any) -> str:
    from pydantic import TypeAdapter, ValidationError

    try:
        return str(TypeAdapter(kind).validate_python(text.lower()))
    except ValidationError:
        raise ValueError(f"{text!r} is not a UUID, such as 11111111-2222-4333-8444-555555555555") from None


def region(text: str, *, cloud: str) -> str:
    """Parse a cloud's region name, which becomes the site's name."""
    from clouds.base.pool_section import Pool
    from clouds.registry import clouds

    return of_field(Pool, "site", of_field(clouds()[cloud].site_type, "region", text))


def image(text: str, *, cloud: str) -> str:
    """Parse the id of an image in a cloud."""
    from clouds.registry import clouds

    return of_field(clouds()[cloud].site_type, "image", text)


def azure_zones(text: str) -> tuple[str, ...]:
    """Parse Azure's zones, numbers from 1."""
    return _zones(text, pattern="[1-9]", least=1, example="1,2,3")


def aws_zones(text: str) -> tuple[str, ...]:
    """Parse AWS's zones, letters."""
    return _zones(text, pattern="[a-z]", least=2, example="a,b")


def _zones(text: str, *, pattern: str, least: int, example: str) -> tuple[str, ...]:
    from clouds.base.site import ZONES

    zones = tuple(re.split(r"[\s,]+", text.strip()))
    fits = all(re.fullmatch(pattern, zone) for zone in zones) and len(set(zones)) == len(zones)
    if not fits or not least <= len(zones) <= ZONES:
        raise ValueError(f"{text!r} is not {least} to {ZONES} different zones, such as {example}")
    return zones


def machine_type(text: str, *, cloud: str) -> str:
    """Parse a cloud's machine type that Longhaul knows."""
    from clouds.base.phrases import suggestion
    from components.model.pools.machine_types import known_machine_types

    fitting = [known for known, kind in known_machine_types().items() if kind.cloud == cloud]
    if text not in fitting:
        raise ValueError(f"{text!r} is not a machine type on {cloud} that Longhaul knows: {suggestion(fitting, text)}")
    return text


def cloud_site(text: str, *, cloud: Literal["azure", "aws"]) -> CloudSite:
    """Parse ``REGION [ZONES] [IMAGE]``, with zones such as ``a,b,c``."""
    where, *rest = text.split() or [""]
    zones = aws_zones if cloud == "aws" else azure_zones
    named = rest.pop(0) if rest and "/" not in rest[0] and "-" not in rest[0] else ""
    if len(rest) > 1:
        raise ValueError(f"{text!r} is not a region, its zones with commas between them, and an image")
    return CloudSite(
        cloud=cloud,
        region=region(where, cloud=cloud),
        zones=zones(named) if named else _region_zones(cloud, where),
        image=image(rest[0], cloud=cloud) if rest else None,
    )


def _region_zones(cloud: str, where: str) -> tuple[str, ...]:
    """Return the zones that a site in a region has by default."""
    from clouds.registry import clouds

    field = clouds()[cloud].site_type.model_fields["zones"]
    return tuple(field.get_default(call_default_factory=True, validated_data={"region": where}))


def onprem_site(text: str) -> Rack:
    """Parse ``NAME ADDRESS [ADDRESS]``: a site and the public addresses of its gateways."""
    from clouds.base.pool_section import Pool as Declared

    site, *addresses = text.split() or [""]
    if not 1 <= len(addresses) <= 2:
        raise ValueError(f"{text!r} is not a site's name and the public address of each of its gateways, one or two")
    return Rack(site=of_field(Declared, "site", site), gateways=tuple(map(gateway, addresses)))


def hosts(text: str) -> HostsAnswer:
    """Parse ``N[xGPUS] [SITE]``: a number of hosts, and the GPUs of each."""
    from clouds.base.pool_section import Pool as Declared

    match = re.fullmatch(r"([1-9]\d{0,4})(?:x(\d{1,2}))?(?:\s+(\S+))?", text.strip())
    if not match or int(match[2] or 0) > 16:
        raise ValueError(f"{text!r} is not a number of hosts, such as 24, or 96x8 for 8 GPUs in each (at most 16)")
    site = of_field(Declared, "site", match[3]) if match[3] else ""
    return HostsAnswer(number=int(match[1]), gpus=int(match[2] or 0), site=site)


def machines(text: str) -> int:
    """Parse the maximum number of machines of a pool."""
    if not re.fullmatch(r"[1-9]\d{0,3}", text) or int(text) > 7500:
        raise ValueError(f"{text!r} is not a number of machines, 1 to 7500")
    return int(text)


def size(text: str) -> SizeAnswer:
    """Parse the name of a control plane's size."""
    if text not in SIZES:
        raise ValueError(f"{text!r} is not a size: {', '.join(SIZES)}")
    return SIZES[text]


def administrator_key(text: str) -> str:
    """Parse an SSH public key, or the path of its file. A comment of several words is dropped: the environment allows
    one word."""
    from components.model.environment import Access

    if not text.startswith(_KEY_TYPES):
        text = _key_in(Path(text).expanduser())
    words = text.split()
    return of_field(Access, "administrator_key", " ".join(words if len(words) <= 3 else words[:2]))


def _key_in(path: Path) -> str:
    try:
        key = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not text"
        raise ValueError(f"{path}: {reason}; give the file of an SSH public key, or the key itself") from None
    if "PRIVATE KEY" in key:
        raise ValueError(f"{path} is a private key: give the public one, {path}.pub")
    return key


def gateway(text: str) -> GatewayAnswer:
    """Parse ``ADDRESS [TYPE KEY]``, the form of ssh-keyscan's lines."""
    address, *rest = text.split() or [""]
    try:
        ip = IPv4Address(address)
    except ValueError:
        raise ValueError(f"{address!r} is not an IPv4 address, such as 198.51.100.20") from None
    return GatewayAnswer(address=ip, host_key=_host_key(rest, of=text))


def host(text: str) -> HostAnswer:
    """Parse ``NAME [GPUS] [TYPE KEY]``."""
    from components.model.hosts.section import Host as DeclaredHost

    called, *rest = text.split() or [""]
    gpus = 0
    if rest and rest[0].isdigit():
        gpus = int(rest[0])
        rest = rest[1:]
        if gpus > 16:
            raise ValueError(f"{gpus} GPUs are more than the 16 that a host may have")
    return HostAnswer(name=of_field(DeclaredHost, "name", called), gpus=gpus, host_key=_host_key(rest, of=text))


def _host_key(words: Sequence[str], *, of: str) -> str | None:
    from clouds.base.site import Gateway as Declared

    if not words:
        return None
    if len(words) < 2 or not words[0].startswith(_KEY_TYPES):
        raise ValueError(f"{of!r} does not end with a host key: its type and itself, as ssh-keyscan prints them")
    return of_field(Declared, "host_key", " ".join(words[:2]))


def yes(text: str) -> bool:
    """Parse yes or no."""
    if text.lower() not in (*YES, *NO):
        raise ValueError(f"{text!r} is neither yes nor no")
    return text.lower() in YES
