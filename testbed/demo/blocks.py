"""What the tasks of a run read from their hosts' disks, by what they wrote down
(schemas/devices.md) and by what the kernel counted; and run times beside the simulator's."""

import os
import statistics
import typing

MB = 1e6


class Read(typing.NamedTuple):
    """Sums over tasks; counted: None where the kernel counts nothing."""

    tasks: int
    bytes: int
    counted: typing.Optional[int]
    dropped: int  # tasks that did not read around the cache


def read(folder):
    names = os.listdir(folder) if os.path.isdir(folder) else []
    rows = []
    for name in names:
        with open(os.path.join(folder, name)) as lines:
            rows += [line.split() for line in lines if line.endswith("\n")]
    known = all(row[2] != "-" for row in rows)
    return Read(len(rows), sum(int(row[1]) for row in rows),
                sum(int(row[2]) for row in rows) if known else None,
                sum(row[3] == "dropped" for row in rows))


def short(found):
    """A sentence where bytes did not come from the disk."""
    if found.counted is None or found.counted >= found.bytes:
        return []
    return ["%.1f of the %.1f MB that tasks read did not come from the disk." % (
        (found.bytes - found.counted) / MB, found.bytes / MB)]


def lines(found, said, counted, makespan):
    """said: Disks.describe()'s; counted: Disks.counted()'s; makespan: seconds."""
    how = ("after they were dropped from the cache" if found.dropped
           else "around the cache (O_DIRECT)")
    kernel = "?" if found.counted is None else "%.1f" % (found.counted / MB)
    words = ["disks: " + said, "%d tasks read %.1f MB, %s" % (found.tasks, found.bytes / MB, how),
             "the kernel counted %s MB of their processes" % kernel]
    if counted:
        most = max(counted, key=counted.get)
        words.append("%.1f MB of all that hosts run, %.2f MB/s of %s, the most" % (
            sum(counted.values()) / MB, counted[most] / MB / max(makespan, 1e-9), most))
    return ["; ".join(words)] + short(found)


def _beside(run):
    """One run time, and the average of the simulator's."""
    all_there = run["simulated"]["makespans"]
    there = statistics.mean(all_there)
    spread = ", %.1f to %.1f s" % (min(all_there), max(all_there)) if len(all_there) > 1 else ""
    return "%s %.1f s (simulated %.1f s%s: %+.1f %%)" % (
        run["label"], run["makespan"], there, spread, 100 * (run["makespan"] / there - 1))


def verdict(runs):
    """Run times, shortest first, and the simulator's; nothing without disks."""
    if not all(run.get("disks") for run in runs):
        return []
    runs = sorted(runs, key=lambda run: run["makespan"])
    there = sorted(runs, key=lambda run: statistics.mean(run["simulated"]["makespans"]))
    order = "the simulator's order" if runs == there else "simulated: " + ", ".join(
        run["label"] for run in there)
    return ["Run times: %s; %s." % (", ".join(map(_beside, runs)), order)]
