"""make demo NET=spark: a real Spark on namespaces, with duopoly beside it."""
import json
import os
import re
import subprocess
import sys

import pytest
from controller import BUILD, TOP
from test_spark import pytestmark  # noqa: F401  where it can run

VARIABLES = {"NET": "spark", "BUILD": str(BUILD), "JOBS": "3", "SPREAD": "1", "ROWS": "all"}


def run(**variables):
    return subprocess.run([sys.executable, "-B", "-m", "testbed.demo.demo"], cwd=TOP, capture_output=True, text=True, timeout=400, check=False,
                          env={**os.environ, **VARIABLES, **variables})


def test_duopoly_allows_what_spark_runs_and_all_is_kept():
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    folder = re.search(r"are in (\S+)$", done.stdout, re.M)[1]
    with open(os.path.join(folder, "figures.json")) as figures:
        row, = json.load(figures)
    assert [job for job, _, _ in row["jobs"]] == [0, 1, 2] and row["allows"] > 0
    assert all(seconds > 0 and int(size) > 500_000 for _, seconds, size in row["jobs"])
    assert row["remote_bytes"] + row["local_bytes"] > sum(int(size) for _, _, size in row["jobs"])  # and what frames them
    agents = [open(os.path.join(folder, f"all-1/duopoly/duopoly-agent-w{n}.log")).read() for n in range(1, 5)]
    assert all(len(re.findall("executor .* marked$", said, re.M)) == 2 for said in agents), agents
    assert os.listdir(os.path.join(folder, "all-1/events"))


@pytest.mark.parametrize("variables, sentence", [
    ({"ROWS": "quick"}, 'demo: unknown row "quick": ROWS takes fifo, fifo-ours, fair, fair-ours, order, marks, holds, all, all-2cores, all-service'),
    ({"WORKLOAD": "real"}, 'demo: unknown workload "real": WORKLOAD takes synthetic, tpch'),
    ({"WORKLOAD": "tpch", "SCALE": "x"}, 'demo: SCALE is "x", must be a number .001…10 (of the tables; .1 is 32 MB)'),
    ({"JOBS": "0"}, 'demo: JOBS is "0", must be a whole number 1…1000'),
    ({"SPARK_HOME": "/nowhere"}, "demo: NET=spark: there is no Spark in /nowhere: make deps-spark, or SPARK_HOME")])
def test_bad_input_gets_one_sentence(variables, sentence):
    done = run(**variables)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence + "\n")
