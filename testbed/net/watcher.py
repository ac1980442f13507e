"""Ends an instance whose owner was killed before it could do so itself: SIGKILL cannot be handled.
One is started with each instance, in a session of its own, and ends with it.

    python3 -m testbed.net.watcher NUMBER TOKEN"""

import contextlib
import os
import select
import sys

from testbed.net import instance, system


def wait_for_end(process):
    """Until it is gone; process: [pid, start time]."""
    try:
        handle = os.pidfd_open(process[0])
    except ProcessLookupError:
        return
    try:
        if system.is_alive(process):  # else the number is another's by now
            select.select([handle], [], [])
    finally:
        os.close(handle)


def watch(number, token):
    state = instance.read(number)
    if state is None or state["token"] != token or state["owner"] is None:
        return
    wait_for_end(state["owner"])
    commands = (instance.read(number) or {}).get("ends", [])
    # What is abandoned now may be more than one: a script in a namespace of its own, with daemons
    # of its own.
    instance.end_abandoned()
    for command in commands:
        with contextlib.suppress(system.Failure, OSError):
            system.run(*command)


if __name__ == "__main__":
    watch(int(sys.argv[1]), sys.argv[2])
