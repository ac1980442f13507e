"""Tables of TPC-H's shape for the demo, made by tpchgen-cli (requirements.txt) and kept beside
Spark."""

import os
import shutil
import subprocess

from testbed.net import system
from testbed.spark import cluster

PARTS = {"customer": 2, "lineitem": 8, "nation": 1, "orders": 4, "part": 2, "partsupp": 4,
         "region": 1, "supplier": 1}  # files of each


def folder(scale):
    """Their folder; made once. Failure: what to do."""
    program = cluster.CACHE.parent / "bin" / "tpchgen-cli"
    made = cluster.CACHE.parent.parent / ("tpch-%s" % scale)
    if made.exists():
        return str(made)
    if not program.exists():
        raise system.Failure("NET=spark: WORKLOAD=tpch needs %s: make deps-spark" % program)
    part = made.with_suffix(".part%d" % os.getpid())
    try:
        for table, parts in PARTS.items():
            command = [program, "parquet", "-s", str(scale), "--tables", table,
                       "--parts", str(parts), "-o", part]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                why = (done.stderr.strip() or "it does not say why").splitlines()[-1]
                raise system.Failure("tpchgen-cli could not make table %s: %s" % (table, why))
        part.rename(made)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return str(made)
