"""An xDS server in small: it serves one cluster and no listener by ADS, gRPC and protobuf written by hand."""

from __future__ import annotations

import socket
import struct

from tests.dataplane.app import ACK, DATA, END_HEADERS, HEADERS, HTTP2_PREFACE, SETTINGS, frame, literal, read_frames

CLUSTER_TYPE = b"type.googleapis.com/envoy.config.cluster.v3.Cluster"
LISTENER_TYPE = b"type.googleapis.com/envoy.config.listener.v3.Listener"
_WINDOW_UPDATE = 8


def field(number: int, value: bytes | int) -> bytes:
    """One field of a protobuf message: bytes (strings, messages) or a small unsigned number."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def cluster(name: bytes, host: bytes, port: int) -> bytes:
    """envoy.config.cluster.v3.Cluster, static, with one endpoint."""
    address = field(1, field(2, host) + field(3, port))
    endpoint = field(2, field(1, field(1, address)))
    assignment = field(1, name) + field(2, endpoint)
    return field(1, name) + field(33, assignment)


def response(kind: bytes, *resources: bytes) -> bytes:
    """envoy.service.discovery.v3.DiscoveryResponse, as gRPC frames a message."""
    packed = b"".join(field(2, field(1, kind) + field(2, resource)) for resource in resources)
    message = field(1, b"1") + packed + field(4, kind) + field(5, b"nonce")
    return b"\0" + struct.pack(">I", len(message)) + message


def serve(connection: socket.socket) -> None:
    """Answers an ADS stream: a cluster `dynamic`, no listeners, each once."""
    with connection:
        connection.recv(len(HTTP2_PREFACE), socket.MSG_WAITALL)
        connection.sendall(frame(SETTINGS, 0, 0, b"") + frame(_WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 20)))
        answered: set[bytes] = set()
        for kind, flags, number, payload in read_frames(connection):
            if kind == SETTINGS and not flags & ACK:
                connection.sendall(frame(SETTINGS, ACK, 0, b""))
            if kind == HEADERS:
                head = b"\x88" + literal(b"content-type", b"application/grpc")
                connection.sendall(frame(HEADERS, END_HEADERS, number, head))
            if kind == DATA:
                for asked, resources in ((CLUSTER_TYPE, [cluster(b"dynamic", b"10.99.0.1", 80)]), (LISTENER_TYPE, [])):
                    if asked in payload and asked not in answered:
                        answered.add(asked)
                        connection.sendall(frame(DATA, 0, number, response(asked, *resources)))


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)
