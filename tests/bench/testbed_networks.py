"""How long networks take to be made and to go."""
import os
import statistics
import time

from testbed.demo import demo
from testbed.demo.inputs import Inputs
from testbed.net import instance

ROUNDS = int(os.environ.get("ROUNDS") or 5)
ASKED = [  # what, its variables, seconds
    ("star of 9", {"HOSTS": "9"}, 3),
    ("leaf-spine of 12 + 5", {"TOPO": "leafspine", "HOSTS": "12", "RACKS": "3", "SPINES": "2"}, 6),
    ("Mininet's star of 9", {"NET": "mininet", "HOSTS": "9"}, 3),
]


def round_s(asked):
    """Seconds until it is made, and until it is gone."""
    own = instance.create(demo.TREE)
    begin = made = time.monotonic()
    try:
        asked.network(own).up()
        made = time.monotonic()
    finally:
        own.down()
    return made - begin, time.monotonic() - made


def measure(table):
    table.head("networks made and gone, median of %d (largest)" % ROUNDS)
    instance.end_abandoned()
    for what, words, bar_s in ASKED:
        asked = Inputs(words, demo.TREE, demo.build_folder())
        rounds = [round_s(asked) for _ in range(ROUNDS)]
        sums = [sum(one) for one in rounds]
        table.row(what, "%.2f s (%.2f)" % (statistics.median(sums), max(sums)), "<= %d s" % bar_s, statistics.median(sums) <= bar_s)
        table.row("  made; gone", "%.2f; %.2f s" % tuple(statistics.median(part) for part in zip(*rounds)))
