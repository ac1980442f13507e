"""--if-version: of two operators at once the second is told what changed since it looked."""

from controller import workload


def version(daemon):
    return daemon.ctl("status")["changes_version"]


def test_the_second_is_told_what_changed(cluster):
    daemon = cluster.daemon(keys=True)
    ann = daemon.key("ann", role="operator")
    seen = version(daemon)
    daemon.remote(ann, "policy", "turn", "fair", "--if-version", seen)
    assert version(daemon) > seen
    told = daemon.ctl("policy", "turn", "fifo", "--if-version", seen, expect=1)
    assert f"since version {seen}: key of ann (operator): policy turn fair: look again" in told
    judged = daemon.ctl("policy", "turn", "fifo", "--if-version", seen, "--dry-run", expect=1)
    assert judged == told
    seen = version(daemon)
    daemon.ctl("policy", "turn", "fifo", "--if-version", seen)
    for number in range(4):
        daemon.ctl("user", "set", f"u{number}", "share=1")
    told = daemon.ctl("user", "leave", "u1", "--if-version", seen, expect=1)
    assert "user set u1 share=1; and more: look again" in told
    told = daemon.ctl("user", "leave", "u1", "--if-version", 10 ** 6, expect=1)
    assert "there is no such version" in told


def test_jobs_change_no_version(cluster):
    daemon = cluster.daemon()
    seen = version(daemon)
    stage = {"tasks": 1, "compute_ms": 5}
    file = workload(daemon.folder, [{"id": 1, "name": "j", "stages": [stage]}])
    job = daemon.ctl("submit", file, "--if-version", seen)["jobs"][0]["job"]
    daemon.ctl("job", "hold", job, "--if-version", seen)
    assert version(daemon) > seen
    seen = version(daemon)
    daemon.ctl("cancel", job)
    assert version(daemon) == seen
    daemon.kill()
    daemon.start()
    assert version(daemon) == seen
    daemon.ctl("jobs", "--if-version", seen, expect=2)
    daemon.ctl("policy", "turn", "fair", "--if-version", "x", expect=2)
