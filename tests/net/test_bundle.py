"""`duopolyctl support-bundle`: what somebody needs who is to help, and nothing that is secret."""
import base64
import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import re
import shutil
import sqlite3
import subprocess
import tarfile
import urllib.parse

import pytest

from controller import BUILD, Played, answers, pb, read_key, wait_until, workload
from test_controller import one_job
from testbed.net.system import root_is_mount

TOKEN = "Zm9yLXRoZS1zdXBwb3J0LWJ1bmRsZS10ZXN0"
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
FOLDER = "duopoly-support/"
ANSWERS = set("status mode mode-history policy config hosts units links queues switches users "
              "debts counters jobs history coflows macroflows events audit".split())
MOST = 200_000_000
mounts = pytest.mark.skipif(os.getuid() != 0 or not root_is_mount(),
                            reason="it mounts, as root, where / is a mount of its own")


def ctl(*words):
    return subprocess.run([BUILD / "duopolyctl", *map(str, words)], capture_output=True, text=True,
                          timeout=60, check=False)


def bundle(daemon, file):
    return ctl("-s", daemon.socket, "support-bundle", file)


def contents(file):
    with tarfile.open(file) as tar:
        names = tar.getnames()
        assert all(name.startswith(FOLDER) for name in names), "it comes out as one folder"
        return {name.removeprefix(FOLDER): tar.extractfile(name).read() for name in names}


def lacks(done):
    """What the bundle does not have, or not whole."""
    file, first, more = re.search(
        r"^duopolyctl: (\S+) is written; it lacks, in part or as a whole: "
        r"(.*?)(?:, and (\d+) more, which its README names)?$", done.stderr, re.M).groups()
    readme = contents(file)["README"].decode().split("\nPART ")[1]
    named = re.findall(r"^(\S+(?: \S+)?) +\d+  .", readme, re.M)
    assert done.returncode == 7 and len(first.split(", ")) + int(more or 0) == len(named), done
    assert ", ".join(named).startswith(first)
    return named


# ---- secrets ----


def raw(z85):
    """The bytes of a key's text (ZeroMQ RFC 32)."""
    out = b""
    for at in range(0, len(z85), 5):
        number = 0
        for digit in z85[at:at + 5]:
            number = number * 85 + Z85.index(digit)
        out += number.to_bytes(4, "big")
    return out


def forms(secret):
    """A secret's bytes as somebody may have written them."""
    yield secret
    yield secret.hex().encode()
    yield secret.hex().upper().encode()
    for shift in range(3):  # at any place of a longer text
        text = base64.b64encode(b"\0" * shift + secret)
        yield text[4 * (shift > 0):len(text) // 4 * 4 - 4]
    yield base64.urlsafe_b64encode(secret).rstrip(b"=")


def layers(data):
    """The bytes, and what is inside them: members, also compressed ones, and escaped texts."""
    yield data
    yield urllib.parse.unquote_to_bytes(data)
    for open_it in (gzip.decompress, bz2.decompress, lzma.decompress):
        with contextlib.suppress(OSError, EOFError, lzma.LZMAError):
            yield from layers(open_it(data))
    assert not data.startswith(b"\x28\xb5\x2f\xfd"), "zstd: this test cannot look inside"
    with contextlib.suppress(tarfile.TarError):
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                yield from layers(tar.extractfile(member).read())


def found(data, secrets):
    return {name for layer in layers(data) for name, secret in secrets.items()
            if any(form in layer for form in forms(secret))}


def secrets_of(daemon, *more):
    """name: bytes, of all that there are in this cluster."""
    files = [*daemon.folder.rglob("*.key")]
    secrets = {str(file): read_key(file)["secret"] for file in files}
    assert len(secrets) >= 4
    for name, text in list(secrets.items()):
        secrets[name], secrets[name + " in Z85"] = raw(text), text.encode()
    file = f"file:{daemon.folder}/state/store.db?mode=ro"
    with contextlib.closing(sqlite3.connect(file, uri=True)) as store:
        (proof,), = store.execute("SELECT value FROM settings WHERE kind = 'proof'")
    secrets["the key of proofs"] = bytes.fromhex(proof)
    secrets["token"] = TOKEN.encode()
    for start in more:
        assert start.proof
        secrets[f"proof of {start.attempt}"] = str(start.proof).encode()
    return secrets


def test_a_secret_would_be_found(tmp_path):
    """Wherever it is: so that the next test can fail."""
    secret = os.urandom(32)
    file = tmp_path / "bundle.tar"
    hidden = (secret, b"x" + secret.hex().encode(), b"ab" + base64.b64encode(b"ab" + secret),
              urllib.parse.quote_from_bytes(secret).encode())
    for data in [wrap(one) for one in hidden for wrap in (bytes, gzip.compress, lzma.compress)]:
        with tarfile.open(file, "w") as tar:
            member = tarfile.TarInfo(FOLDER + "part")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        assert found(file.read_bytes(), {"it": secret, "other": os.urandom(32)}) == {"it"}, data


def busy(cluster, tmp_path):
    """A controller with everything that is secret; an agent of it, and a start."""
    token = tmp_path / "token"
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    daemon = cluster.daemon(keys=True, config="metrics: {listen: 'tcp://127.0.0.1:*', "
                                              f"token: {token}}}\n")
    agent = cluster.agent(daemon, "h1", key=daemon.key("h1"))
    agent.join()
    for name, role in (("ann", "admin"), ("w1", "agent")):
        daemon.key(name, role=role)
    daemon.ctl("keys", "rotate", "w1", "--out", daemon.folder / "rotated")
    daemon.ctl("keys", "rotate", "controller")
    daemon.ctl("submit", workload(daemon.folder, [one_job()]))
    wait_until(agent.receive_start, "a start")
    start, = agent.running.values()
    agent.state(start.attempt, "STARTED")
    wait_until(lambda: any(f"attempt={start.attempt}" in line for line in daemon.log()),
               "it is recorded")
    return daemon, start


def test_it_has_what_is_needed_and_no_secret(cluster, tmp_path):
    daemon, start = busy(cluster, tmp_path)
    file = tmp_path / "bundle.tar"
    done = bundle(daemon, file)
    assert done.returncode == 0 or lacks(done) == ["log"], "the journal is not the test's"
    assert os.stat(file).st_mode & 0o777 == 0o600
    parts = contents(file)
    assert found(file.read_bytes(), secrets_of(daemon, start)) == set()
    for name in ANSWERS:
        assert answers.read(parts[f"answers/{name}.json"]), name
        assert parts[f"answers/{name}.txt"].decode().endswith("\n"), name
    assert b"h1" in parts["answers/hosts.txt"] and b"loop.slow" in parts["answers/counters.txt"]
    assert json.loads(parts["answers/jobs.json"])["items"][0]["name"] == "j"
    assert parts["duopolyd.yaml"] == (daemon.folder / "duopolyd.yaml").read_bytes()
    assert re.match(rb"duopolyctl 0\.", parts["versions"])
    assert os.uname().release.encode() in parts["versions"]
    assert b"MemTotal" in parts["machine/proc/meminfo"]
    recording = tmp_path / "duopoly.log"
    recording.write_bytes(parts["duopoly.log"])
    replayed = subprocess.run([BUILD / "duopoly-sim", "replay", recording], capture_output=True,
                              text=True, timeout=60, check=False)
    assert replayed.returncode == 0, replayed


def test_a_person_can_read_it(cluster, tmp_path):
    daemon, _ = busy(cluster, tmp_path)
    file = tmp_path / "bundle.tar"
    done = bundle(daemon, file)
    parts = contents(file)
    readme = parts["README"].decode()
    assert all(line.isprintable() and len(line) < 200 for line in readme.splitlines())
    table = dict(re.findall(r"^(\S+) +(\d+)(?:  .*)?$", readme.split("\nPART ")[1], re.M))
    for name, data in parts.items():
        if name != "README" and not name.startswith("machine/"):
            assert table[name] == str(len(data)), name
            assert re.search(rf"^{re.escape(name)} ", done.stdout, re.M), "the command says it, too"
    assert set(table) - set(parts) <= {"log"}, "and what is not there"
    listed = subprocess.run(["tar", "tvf", file], capture_output=True, text=True, check=True)
    assert not listed.stderr and len(listed.stdout.splitlines()) == len(parts)


# ---- where something is missing ----


def test_what_is_there_stays(cluster, tmp_path):
    daemon = cluster.daemon()
    file = tmp_path / "bundle.tar"
    file.write_text("mine")
    done = bundle(daemon, file)
    assert done.returncode == 1 and "is there already" in done.stderr and not done.stdout
    assert file.read_text() == "mine"
    (tmp_path / "link.tar").symlink_to(tmp_path / "elsewhere")
    assert bundle(daemon, tmp_path / "link.tar").returncode == 1
    assert not (tmp_path / "elsewhere").exists()
    assert bundle(daemon, tmp_path / "none" / "b.tar").returncode == 5
    assert ctl("-s", daemon.socket, "support-bundle", "").returncode == 2


@mounts
def test_a_full_disk_leaves_nothing(cluster, tmp_path):
    daemon = cluster.daemon()
    disk = tmp_path / "disk"
    disk.mkdir()
    script = ('mount -t tmpfs -o size=32k none "$1" && { "$2" -s "$3" support-bundle "$1/b.tar"; '
              'echo $? $(ls -A "$1"); }')
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", disk, BUILD / "duopolyctl",
                           daemon.socket], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "1\n" and done.stderr == \
        f"duopolyctl: writing {disk}/b.tar: No space left on device\n", done


def test_without_a_controller_it_says_so(tmp_path):
    file = tmp_path / "bundle.tar"
    done = ctl("-s", tmp_path / "nowhere", "support-bundle", file)
    assert "answers" in lacks(done)
    parts = contents(file)
    assert not any(name.startswith("answers/") for name in parts)
    assert re.search(r"^answers +0 +no controller listens on .*/nowhere", parts["README"].decode(),
                     re.M)
    assert b"MemTotal" in parts["machine/proc/meminfo"]
    document = json.loads(ctl("-j", "-s", tmp_path / "nowhere", "support-bundle",
                              tmp_path / "second.tar").stdout)
    assert document["partial"] is True and document["error"]["reason"] == "partial"
    assert {"answers", "versions"} <= {part["part"] for part in document["items"][0]["parts"]}


@mounts
@pytest.mark.parametrize("wrong", [False, True])
def test_a_controller_that_is_down_has_files(cluster, tmp_path, wrong):
    """They are where the file says that packages install; which may be why it is down."""
    daemon = cluster.daemon()
    daemon.stop()
    config = daemon.folder / "duopolyd.yaml"
    if wrong:
        config.write_text(config.read_text() + "levles: 3\n")
    etc = tmp_path / "etc"
    (etc / "duopoly").mkdir(parents=True)
    shutil.copy(config, etc / "duopoly")
    for name in ("passwd", "group", "ld.so.cache"):
        shutil.copy(f"/etc/{name}", etc)
    script = 'mount --bind "$1" /etc && "$2" -s "$3" support-bundle "$4"'
    file = tmp_path / "bundle.tar"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", etc, BUILD / "duopolyctl",
                           daemon.socket, file], capture_output=True, text=True, timeout=60,
                          check=False)
    parts = contents(file)
    assert parts["duopolyd.yaml"] == config.read_bytes()
    assert ("duopoly.log" in lacks(done)) == wrong
    if wrong:
        assert "unknown key 'levles'" in parts["README"].decode()
    else:
        assert parts["duopoly.log"] == (daemon.folder / "log" / "duopoly.log").read_bytes()


def refused(_request, reason=pb.REASON_STATE):
    return pb.Envelope(version=1, refused=pb.Refused(reason=reason, text="it starts"))


def test_what_is_refused_is_named_and_the_rest_is_asked(tmp_path):
    with Played(tmp_path / "s", refused) as played:
        done = ctl("-s", played.path, "support-bundle", tmp_path / "bundle.tar")
    assert set(lacks(done)) >= {f"answers/{name}.txt" for name in ("status", "jobs", "hosts")}
    readme = contents(tmp_path / "bundle.tar")["README"].decode()
    for name in ANSWERS:
        for ending in ("txt", "json"):
            assert re.search(rf"^answers/{name}\.{ending} +0  it starts$", readme, re.M), name


def test_a_controller_that_goes_away_is_asked_no_more(tmp_path):
    def answer(request):
        return None if request.HasField("get_events") else refused(request)
    with Played(tmp_path / "s", answer) as played:
        done = ctl("-s", played.path, "support-bundle", tmp_path / "bundle.tar")
    assert lacks(done)[-2:] == ["answers/events.txt", "other answers"]
    assert played.asked[-1].HasField("get_events")
    readme = contents(tmp_path / "bundle.tar")["README"].decode()
    assert re.search(r"^other answers +0 +not asked any more: .* closed the connection$", readme,
                     re.M)


def test_a_controller_that_goes_away_at_once_is_as_none(tmp_path):
    with Played(tmp_path / "s", lambda request: None) as played:
        done = ctl("-s", played.path, "support-bundle", tmp_path / "bundle.tar")
    assert lacks(done)[-1] == "answers" and len(played.asked) == 1
    readme = contents(tmp_path / "bundle.tar")["README"].decode()
    assert re.search(r"^answers +0 .* closed the connection$", readme, re.M)


# ---- bounds ----


def test_a_recording_that_is_too_long_is_cut(cluster, tmp_path):
    daemon = cluster.daemon()
    with open(daemon.folder / "log" / "duopoly.log", "r+b") as recording:
        recording.truncate(300 << 20)
    file = tmp_path / "bundle.tar"
    assert "duopoly.log" in lacks(bundle(daemon, file))
    assert os.stat(file).st_size < MOST
    with tarfile.open(file) as tar:
        assert tar.getmember(FOLDER + "duopoly.log").size == 128 << 20
        readme = tar.extractfile(FOLDER + "README").read().decode()
    assert re.search(r"^duopoly\.log +134217728  its beginning: ", readme, re.M)


def test_an_answer_that_is_too_long_is_cut(tmp_path):
    """Jobs on 1 500 pages: of the table its beginning is there, whole lines; a document is not."""
    def answer(request):
        if request.list.of != pb.LIST_JOBS or not request.HasField("list"):
            return refused(request, pb.REASON_UNSUPPORTED)
        page = pb.Page(cursor=(request.list.cursor + 1) % 1500)
        for i in range(13):
            page.jobs.add(job=request.list.cursor * 13 + i + 1, text="x" * 380, reason="y" * 250)
        return pb.Envelope(version=1, page=page)
    with Played(tmp_path / "s", answer) as played:
        done = ctl("-s", played.path, "support-bundle", tmp_path / "bundle.tar")
    assert {"answers/jobs.txt", "answers/jobs.json"} <= set(lacks(done))
    parts = contents(tmp_path / "bundle.tar")
    assert "answers/jobs.json" not in parts
    text = parts["answers/jobs.txt"].decode()
    assert (7 << 20) < len(text) <= 8 << 20 and text.endswith("\n")
    assert all("y" * 250 in line for line in text.splitlines()[1:])


def test_from_elsewhere_it_has_the_answers(cluster, tmp_path):
    daemon = cluster.daemon(keys=True)
    reader = daemon.key("ann", role="read-only")
    file = tmp_path / "bundle.tar"
    done = ctl("--controller", daemon.address, "--key", reader, "support-bundle", file)
    assert lacks(done) == ["duopolyd.yaml", "duopoly.log", "log"]
    parts = contents(file)
    assert "duopolyd.yaml" not in parts
    assert {f"answers/{name}.json" for name in ANSWERS} <= set(parts)
    assert found(file.read_bytes(), {"ann": raw(read_key(reader)["secret"])}) == set()
