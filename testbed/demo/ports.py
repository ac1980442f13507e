"""What the tasks of a run recorded about their connections (schemas/ports.md)."""

import collections
import os

Line = collections.namedtuple("Line", "what ends time_ns")


def read(folder):
    """{attempt: its lines in order}; without the folder, or with unfinished lines, what exists."""
    found = {}
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        with open(os.path.join(folder, name)) as lines:
            split = [line.split() for line in lines if line.endswith("\n")]
        found[name.rpartition("-")[2]] = [Line(words[0], tuple(words[1:5]), int(words[5]))
                                          for words in split
                                          if len(words) == 6]
    return found


def first_of(lines, what):
    """The time of its first line; None if there is none."""
    return min((line.time_ns for line in lines if line.what == what), default=None)


def handshakes(lines):
    """From each connection's connect to its open."""
    asked = {line.ends: line.time_ns for line in lines if line.what == "connect"}
    return [line.time_ns - asked[line.ends] for line in lines if line.what == "open"
            and line.ends in asked]
