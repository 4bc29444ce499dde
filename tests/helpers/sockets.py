"""The addresses at which processes accept connections, as the system's own tables have them."""

from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path


def listening(process: int) -> list[IPv4Address | IPv6Address]:
    """Addresses of all TCP sockets at which a process and its descendants accept connections."""
    sockets = {link for member in family(process) for link in open_files(member)}
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in sockets:
                raw = bytes.fromhex(local.partition(":")[0])
                words = b"".join(raw[start : start + 4][::-1] for start in range(0, len(raw), 4))
                address = ip_address(words)
                found.append(getattr(address, "ipv4_mapped", None) or address)
    return found


def family(process: int) -> set[int]:
    """A process and all its descendants."""
    members, parents = {process}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    while more := {child for child, parent in parents.items() if parent in members} - members:
        members |= more
    return members


def open_files(process: int) -> set[str]:
    """What the file descriptors of a process are; those that are closed meanwhile are left out."""
    links = set()
    with suppress(OSError):
        for link in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                links.add(str(link.readlink()))
    return links
