"""Connections whose address was checked when they were made, and which end with their request's deadline."""

import contextlib
import ipaddress
import math
import socket
import ssl
import threading
import time
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx

from tasks.errors import DocumentError
from tasks.fetch.settings import FetchSettings

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class Deadline(threading.local):
    """When the request of this thread must be over, by `time.monotonic`. A limit per read would let a server drip."""

    at: float = math.inf

    def left(self, timeout: float | None, error: type[Exception]) -> float | None:
        """Seconds that the next step may take.

        Raises:
            error: the time is over.
        """
        if self.at == math.inf:
            return timeout
        remaining = self.at - time.monotonic()
        if remaining <= 0:
            raise error
        return remaining if timeout is None else min(timeout, remaining)


class CheckedTransport(httpx.HTTPTransport):
    """httpx's transport over connections whose address was checked when they were made."""

    def __init__(self, settings: FetchSettings, deadline: Deadline) -> None:
        super().__init__()
        self._pool.close()
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=settings.parallel_requests,
            network_backend=_CheckedBackend(deadline, allow_private=settings.allow_private_addresses),
        )


class _CheckedBackend(httpcore.SyncBackend):
    """Resolves a name once, refuses it if any address is not public, and connects to what was checked."""

    def __init__(self, deadline: Deadline, *, allow_private: bool) -> None:
        self._deadline = deadline
        self._allow_private = allow_private

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError("the host name cannot be resolved") from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if not self._allow_private and not all(map(is_public, addresses)):
            raise DocumentError(
                "address_refused",
                "the URL, or a redirect from it, leads to a private, loopback or link-local address",
                remedy="take it out of the source, or set allow_private_addresses in the fetch settings",
            )
        for address in addresses[:-1]:
            with contextlib.suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return self._connect(address, port, timeout, local_address, socket_options)
        return self._connect(addresses[-1], port, timeout, local_address, socket_options)

    def _connect(
        self,
        address: str,
        port: int,
        timeout: float | None,
        local_address: str | None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None,
    ) -> httpcore.NetworkStream:
        left = self._deadline.left(timeout, httpcore.ConnectTimeout)
        return _TimedStream(super().connect_tcp(address, port, left, local_address, socket_options), self._deadline)


class _TimedStream(httpcore.NetworkStream):
    """A connection whose every step ends with the request's deadline."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = self._deadline.left(timeout, httpcore.ConnectTimeout)
        return _TimedStream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public Internet, also when IPv6 only wraps an IPv4 address.

    >>> is_public("93.184.215.14"), is_public("169.254.169.254"), is_public("::ffff:127.0.0.1")
    (True, False, False)
    """
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        nat64 = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF) if parsed in _NAT64 else None
        inner = parsed.ipv4_mapped or parsed.sixtofour or nat64
        if inner is not None:
            parsed = inner
    return parsed.is_global and not parsed.is_multicast
