"""Programs of somebody else on a port, by bpf(2) itself: what Debian 12's tools do not know yet
(tcx, Linux 6.6)."""

import contextlib
import ctypes
import os
import socket
import struct

PROG_LOAD, PROG_QUERY, LINK_CREATE, LINK_ID_FD, LINK_NEXT, LINK_DETACH = 5, 16, 28, 30, 31, 34
SCHED_CLS = 3
WAYS = {"ingress": 46, "egress": 47}
BEFORE = 8
PASS, NEXT = 0, -1  # ends processing; goes on

libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attr):
    buffer = ctypes.create_string_buffer(attr, max(len(attr), 128))
    r = libc.syscall(321, command, buffer, len(buffer))
    if r < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return r, buffer.raw


def program(returns, name="theirs"):
    """A program that returns this; its descriptor."""
    code = struct.pack("<BBhi", 0xb7, 0, 0, returns) + struct.pack("<BBhi", 0x95, 0, 0, 0)
    text, licence = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("<IIQQIIQII16s", SCHED_CLS, 2, ctypes.addressof(text), ctypes.addressof(licence), 0, 0, 0, 0, 0, name.encode())
    return bpf(PROG_LOAD, attr)[0]


def works():
    """Whether this kernel has tcx."""
    try:
        standing_here("lo", "egress")
    except OSError:
        return False
    return True


def standing_here(dev, way):
    """The numbers of the programs on a hook, first to last, in the network namespace of this
    thread."""
    ids = (ctypes.c_uint32 * 64)()
    attr = struct.pack("<IIIIQII", socket.if_nametoindex(dev), WAYS[way], 0, 0, ctypes.addressof(ids), 64, 0)
    _, after = bpf(PROG_QUERY, attr)
    return list(ids)[:struct.unpack_from("<I", after, 24)[0]]


def standing(host, dev, way):
    with host.inside():
        return standing_here(dev, way)


@contextlib.contextmanager
def in_front(host, dev, way, returns=PASS, name="theirs"):
    """A link in front of all others; goes again with the block. Yields the program's number."""
    fd = program(returns, name)
    with host.inside():
        link, _ = bpf(LINK_CREATE, struct.pack("<IIII", fd, socket.if_nametoindex(dev), WAYS[way], BEFORE))
        try:
            yield number_of(fd)
        finally:
            os.close(link)
            os.close(fd)


def number_of(fd):
    with open(f"/proc/self/fdinfo/{fd}") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("prog_id"))


def hooked(host, dev):
    """In which directions a program hangs on a port: where the kernel has no tcx, by a filter."""
    if works():
        return [way for way in sorted(WAYS) if standing(host, dev, way)]
    return [way for way in sorted(WAYS) if " bpf " in host.tc("filter", "show", "dev", dev, way)]


BOTH = ["egress", "ingress"]


def detach(host, dev, way):
    """Takes away what stands first there, by whomever; where the kernel has no tcx, all filters."""
    if not works():
        host.tc("filter", "del", "dev", dev, way)
        return
    number = standing(host, dev, way)[0]
    for link in links():
        if link["prog_id"] == number:
            fd = bpf(LINK_ID_FD, struct.pack("<I", link["id"]))[0]
            bpf(LINK_DETACH, struct.pack("<I", fd))
            os.close(fd)
            return


def links():
    """All links of this kernel: their numbers and their programs'."""
    found, number = [], 0
    while True:
        try:
            number = struct.unpack_from("<II", bpf(LINK_NEXT, struct.pack("<II", number, 0))[1])[1]
            fd = bpf(LINK_ID_FD, struct.pack("<I", number))[0]
        except OSError:
            return found
        with open(f"/proc/self/fdinfo/{fd}") as f:
            said = dict(line.split(":\t") for line in f.read().splitlines() if ":\t" in line)
        os.close(fd)
        found.append({"id": number, "prog_id": int(said["prog_id"])})
