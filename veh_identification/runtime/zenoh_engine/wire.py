"""What rmw_zenoh puts on the wire: key expressions, attachments and liveliness tokens.

Pure functions on strings and bytes, after the design document of rmw_zenoh (`docs/design.md` in
ros2/rmw_zenoh, sections on name mapping, graph cache, publishers and services). Nothing here
imports zenoh.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from veh_identification.errors import MessageError, UsageError
from veh_identification.runtime.qos import QoS

MISSING = (
    'the engine zenoh needs the Python package {}, which is not installed: '
    "install the extra with: pip install 'veh_identification[zenoh]'"
)

try:
    from xxhash import xxh3_128_intdigest
except ImportError as error:
    raise UsageError(MISSING.format('xxhash')) from error

ADMIN_SPACE = '@ros2_lv'
NODE, PUBLISHER, SUBSCRIPTION, SERVICE, CLIENT = 'NN', 'MP', 'MS', 'SS', 'SC'
KINDS = (NODE, PUBLISHER, SUBSCRIPTION, SERVICE, CLIENT)
#: rmw_qos_profile_services_default.
SERVICE_QOS = QoS(depth=10)

#: rmw_zenoh writes only what differs from its own defaults, of which this is the depth.
_DEFAULT_DEPTH = 42
_RELIABLE, _BEST_EFFORT = 1, 2
_TRANSIENT_LOCAL, _VOLATILE = 1, 2
_ATTACHMENT = struct.Struct('<qqB16s')
_GID_LENGTH = 16


def dds_type_name(type_name: str) -> str:
    """`sensor_msgs/msg/Imu` as DDS spells it: `sensor_msgs::msg::dds_::Imu_`."""
    package, kind, name = type_name.split('/')
    return f'{package}::{kind}::dds_::{name}_'


def ros_type_name(dds_name: str) -> str:
    """The inverse of `dds_type_name`."""
    package, kind, _, name = dds_name.split('::')
    return f'{package}/{kind}/{name.removesuffix("_")}'


def mangle(name: str) -> str:
    """A name as one chunk of a key expression: slashes become `%`."""
    return name.replace('/', '%')


def demangle(chunk: str) -> str:
    """The inverse of `mangle`."""
    return chunk.replace('%', '/')


def data_key(domain: int, name: str, type_name: str, type_hash: str) -> str:
    """Key expression on which a topic's messages or a service's requests travel."""
    return f'{domain}/{name.strip("/")}/{dds_type_name(type_name)}/{type_hash}'


def encode_qos(qos: QoS) -> str:
    """The quality of service as liveliness tokens carry it.

    Fields: reliability, durability, history kind and depth, deadline, lifespan, liveliness; what
    equals rmw_zenoh's default stays empty, and our QoS sets none of the last three.
    """
    reliability = '' if qos.reliable else str(_BEST_EFFORT)
    durability = str(_TRANSIENT_LOCAL) if qos.transient_local else ''
    depth = '' if qos.depth == _DEFAULT_DEPTH else str(qos.depth)
    return f'{reliability}:{durability}:,{depth}:,:,:,,'


def decode_qos(text: str) -> QoS:
    """The inverse of `encode_qos` for what our QoS can say."""
    fields = text.split(':')
    if len(fields) < 3 or ',' not in fields[2]:
        raise ValueError(f'{text!r} is not a quality of service of rmw_zenoh')
    depth = fields[2].split(',')[1]
    return QoS(
        depth=int(depth) if depth else _DEFAULT_DEPTH,
        reliable=fields[0] != str(_BEST_EFFORT),
        transient_local=fields[1] == str(_TRANSIENT_LOCAL),
    )


@dataclass(frozen=True)
class Attachment:
    """What travels beside every message, request and response."""

    sequence: int
    source_time_ns: int
    gid: bytes

    def encode(self) -> bytes:
        """33 bytes: int64 sequence, int64 time, uint8 length, 16 bytes of identifier."""
        return _ATTACHMENT.pack(self.sequence, self.source_time_ns, _GID_LENGTH, self.gid)

    @classmethod
    def decode(cls, data: bytes) -> Attachment:
        """The inverse of `encode`; anything else is a MessageError."""
        if len(data) != _ATTACHMENT.size or data[16] != _GID_LENGTH:
            raise MessageError(
                f'expected an attachment of {_ATTACHMENT.size} bytes (sequence, time, '
                f'identifier of {_GID_LENGTH} bytes), got {len(data)} bytes'
            )
        sequence, source_time_ns, _, gid = _ATTACHMENT.unpack(data)
        return cls(sequence, source_time_ns, gid)


@dataclass(frozen=True)
class NodeEntity:
    """A node of the graph."""

    domain: int
    session_id: str
    node_id: int
    namespace: str
    name: str

    def _prefix(self, entity_id: int, kind: str) -> str:
        # The enclave (SROS) is always the root one.
        return (
            f'{ADMIN_SPACE}/{self.domain}/{self.session_id}/{self.node_id}/{entity_id}/{kind}/'
            f'%/{mangle(self.namespace)}/{mangle(self.name)}'
        )

    @property
    def token(self) -> str:
        """Liveliness token of the node."""
        return self._prefix(self.node_id, NODE)


@dataclass(frozen=True)
class Endpoint:
    """A publisher, subscription, service or client of a node."""

    node: NodeEntity
    entity_id: int
    kind: str
    name: str
    type_name: str
    type_hash: str
    qos: QoS

    @property
    def token(self) -> str:
        """Liveliness token of the endpoint."""
        return (
            f'{self.node._prefix(self.entity_id, self.kind)}/{mangle(self.name)}/'
            f'{dds_type_name(self.type_name)}/{self.type_hash}/{encode_qos(self.qos)}'
        )

    @property
    def key(self) -> str:
        """Key expression of its data."""
        return data_key(self.node.domain, self.name, self.type_name, self.type_hash)

    @property
    def gid(self) -> bytes:
        """Global identifier: the 128-bit XXH3 of the token, lower half first.

        rmw_zenoh makes the identifier that `ros2 topic info --verbose` prints in this way, so what
        a message's attachment says and what the graph says agree.
        """
        return int(xxh3_128_intdigest(self.token.encode())).to_bytes(_GID_LENGTH, 'little')


def graph_key(domain: int) -> str:
    """Key expression that matches every liveliness token of a domain."""
    return f'{ADMIN_SPACE}/{domain}/**'


def parse_token(token: str) -> NodeEntity | Endpoint | None:
    """The entity of a liveliness token, None for a token that rmw_zenoh would not write."""
    parts = token.split('/')
    if len(parts) < 9 or parts[0] != ADMIN_SPACE or parts[5] not in KINDS or '' in parts[:9]:
        return None
    try:
        node = NodeEntity(
            int(parts[1]), parts[2], int(parts[3]), demangle(parts[7]), demangle(parts[8])
        )
        if parts[5] == NODE:
            return node
        return Endpoint(
            node,
            int(parts[4]),
            parts[5],
            demangle(parts[9]),
            ros_type_name(parts[10]),
            parts[11],
            decode_qos(parts[12]),
        )
    except (ValueError, IndexError):
        return None
