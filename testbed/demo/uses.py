"""What the tasks of a run wrote down about the devices that they computed on (schemas/devices.md):
how full each was, and whether one was ever over what it has."""

import collections
import os
import typing

WHOLE_MILLI = 1000


class Use(typing.NamedTuple):
    of_bytes: int
    bytes: int
    milli: int
    begin_ns: int
    end_ns: int


class Most(typing.NamedTuple):
    """The most of a device that was in use at one instant, and for how long some of it was."""

    bytes: int
    milli: int
    busy_ns: int


def read(folder):
    """{(host, device): its uses}; a task that was killed says no end, and is left out."""
    found = collections.defaultdict(list)
    for host in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        for name in os.listdir(os.path.join(folder, host)):
            with open(os.path.join(folder, host, name)) as lines:
                split = [line.split() for line in lines if line.endswith("\n")]
            for device, use in _of_task(split):
                found[host, device].append(use)
    return dict(found)


def _of_task(lines):
    taken = {}
    for what, device, of_bytes, bytes_, milli, at_ns in lines:
        if what == "took":
            taken[device] = (int(of_bytes), int(bytes_), int(milli), int(at_ns))
        elif device in taken:
            yield device, Use(*taken.pop(device), int(at_ns))


def most(uses):
    """Of one device; what ends at an instant is not in use at it."""
    changes = [(use.begin_ns, 1, use) for use in uses] + [(use.end_ns, -1, use) for use in uses]
    changes.sort(key=lambda change: change[:2])
    bytes_ = milli = tasks = busy_ns = most_bytes = most_milli = since = 0
    for at_ns, sign, use in changes:
        busy_ns += at_ns - since if tasks else 0
        since, tasks = at_ns, tasks + sign
        bytes_, milli = bytes_ + sign * use.bytes, milli + sign * use.milli
        most_bytes, most_milli = max(most_bytes, bytes_), max(most_milli, milli)
    return Most(most_bytes, most_milli, busy_ns)


def over(found):
    """A sentence without its subject for each device that was over what it has."""
    said = []
    for (host, device), uses in sorted(found.items()):
        full, has = most(uses), max(use.of_bytes for use in uses)
        if has and full.bytes > has:
            said.append("%s of %s had %d B in use at once, of %d B" %
                        (device, host, full.bytes, has))
        if full.milli > WHOLE_MILLI:
            said.append("%s of %s was used by %d per mille at once" % (device, host, full.milli))
    return said


def lines(found):
    """What is worth saying: nothing where nobody used a device."""
    if not found:
        return []
    all_uses = [use for uses in found.values() for use in uses]
    span = max(use.end_ns for use in all_uses) - min(use.begin_ns for use in all_uses)
    full = {key: most(uses) for key, uses in found.items()}
    busy = sum(one.busy_ns for one in full.values()) / (len(found) * max(span, 1))
    shares = [full[key].bytes / use.of_bytes for key, uses in found.items() for use in uses[:1]
              if use.of_bytes]
    return ["devices: %d used by %d tasks; in use %.0f %% of the time from the first to the last; "
            "memory at most %.0f %% of one, time %.0f %%; %s" %
            (len(found), len(all_uses), 100 * busy, 100 * max(shares, default=0),
             max(one.milli for one in full.values()) / 10,
             "; ".join(over(found)) or "none was ever over what it has")]
