"""What Spark's event log says about its shuffles."""

import json
import os


def lines(folder):
    """Events of the one application whose log is in `folder`."""
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as log:
            for line in log:
                yield json.loads(line)


def shuffled(folder):
    """Seconds that tasks waited for fetches, bytes from other hosts, and local bytes."""
    wait_ms = remote = local = 0
    for event in lines(folder):
        if event["Event"] != "SparkListenerTaskEnd":
            continue
        read = (event.get("Task Metrics") or {}).get("Shuffle Read Metrics", {})
        wait_ms += read.get("Fetch Wait Time", 0)
        remote += read.get("Remote Bytes Read", 0)
        local += read.get("Local Bytes Read", 0)
    return {"fetch_wait": wait_ms / 1e3, "remote_bytes": remote, "local_bytes": local}
