"""make demo NET=spark: a real Spark on namespaces, with duopoly beside it. Its runs: make
test-frameworks."""
import json
import os
import re
import subprocess
import sys

import pytest
from controller import BUILD, TOP
from test_spark import pytestmark  # noqa: F401  where it can run
from testbed.demo.spoilt import IDLE_LEAST

VARIABLES = {"NET": "spark", "BUILD": str(BUILD), "JOBS": "3", "SPREAD": "1", "ROWS": "all"}


def run(**variables):
    return subprocess.run([sys.executable, "-B", "-m", "testbed.demo.demo"], cwd=TOP, capture_output=True, text=True, timeout=400, check=False,
                          env={**os.environ, **VARIABLES, **variables})


def figures(**variables):
    """Of each row, and the folder of it all."""
    done = run(**variables)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = re.search(r"are in (\S+)$", done.stdout, re.M)[1]
    with open(os.path.join(folder, "figures.json")) as said:
        return json.load(said), folder


@pytest.mark.frameworks
@pytest.mark.parametrize("row, executors", [("all", 8), ("all-2cores", 4)])
def test_duopoly_allows_what_spark_runs_and_all_is_kept(row, executors):
    (said,), folder = figures(ROWS=row)
    assert [job for job, _, _ in said["jobs"]] == [0, 1, 2] and said["allows"] > 0
    assert all(seconds > 0 and int(size) > 500_000 for _, seconds, size in said["jobs"])
    assert said["remote_bytes"] + said["local_bytes"] > sum(int(size) for _, _, size in said["jobs"])  # and what frames them
    agents = [open(os.path.join(folder, f"{row}-1/duopoly/duopoly-agent-w{n}.log")).read() for n in range(1, 5)]
    assert sum(len(re.findall("executor .* marked$", words, re.M)) for words in agents) == executors, agents
    assert os.listdir(os.path.join(folder, row + "-1/events"))


@pytest.mark.frameworks
def test_what_tasks_fetch_bears_their_levels_also_from_the_external_shuffle_service():
    rows, folder = figures(ROWS="all all-service", VERIFY="1", JOBS="6")
    for row in rows:
        marks = row["marks"]
        right = marks["right_bytes"] + marks["late_bytes"] + marks["window_bytes"]
        judged = right + marks["wrong_bytes"]
        # An executor's thread that waits for a processor, among all that runs here, announces its
        # task late.
        assert judged > 0.9 * row["remote_bytes"] > 0 and right >= (0.999 if row["cpu_idle"] >= IDLE_LEAST else 0.99) * judged, marks
        assert marks["unattributed"] == marks["lost"] == 0 and marks["begin_bytes"] < 0.001 * judged, marks
    assert [job for job, _, _ in rows[0]["jobs"]] == [job for job, _, _ in rows[1]["jobs"]] == list(range(6))
    with open(os.path.join(folder, "all-service-1", "spark-w1.log"), errors="replace") as words:
        assert "Starting shuffle service on port 7094" in words.read()


@pytest.mark.frameworks
def test_queries_over_tables_give_spark_s_own_results_beside_duopoly():
    rows, _ = figures(WORKLOAD="tpch", SCALE="0.01", SPREAD="10", ROWS="fair all")  # the demo itself compares results
    assert [len(row["jobs"]) for row in rows] == [3, 3] and rows[1]["allows"] > 0 and rows[1]["remote_bytes"] > 0


@pytest.mark.parametrize("variables, sentence", [
    ({"ROWS": "quick"}, 'demo: unknown row "quick": ROWS takes fifo, fifo-ours, fair, fair-ours, order, marks, holds, all, all-2cores, all-service'),
    ({"WORKLOAD": "real"}, 'demo: unknown workload "real": WORKLOAD takes synthetic, anywhere, tpch'),
    ({"WORKLOAD": "tpch", "SCALE": "x"}, 'demo: SCALE is "x", must be a number .001…10 (of the tables; .1 is 32 MB)'),
    ({"JOBS": "0"}, 'demo: JOBS is "0", must be a whole number 1…1000'),
    ({"SPARK_HOME": "/nowhere"}, "demo: NET=spark: there is no Spark in /nowhere: make deps-spark, or SPARK_HOME")])
def test_bad_input_gets_one_sentence(variables, sentence):
    done = run(**variables)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence + "\n")
