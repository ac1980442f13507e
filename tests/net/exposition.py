"""Reads what a controller answers to a scrape, strictly: by Prometheus' own description of its text
format (version 0.0.4), and by what it advises on names."""
import http.client
import math
import re
import shutil
import subprocess

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
ABBREVIATED = {"ns", "us", "ms", "s", "kb", "mb", "gb", "permille", "percent"}


class Family:
    def __init__(self, name, what):
        self.name, self.what, self.type = name, what, None
        self.samples = {}  # (name, ((label, value), …)): number

    def value(self, **labels):
        return self.samples[self.name, tuple(sorted(labels.items()))]


def labels_of(text):
    labels, at = [], 0
    while at < len(text):
        found = LABEL.match(text, at)
        assert found, f"labels: {text}"
        value = re.sub(r"\\(.)", lambda c: "\n" if c[1] == "n" else c[1], found[2])
        labels.append((found[1], value))
        at = found.end()
    assert len({name for name, _ in labels}) == len(labels), text
    return tuple(sorted(labels))


def is_name_of(family, name):
    more = ("_bucket", "_sum", "_count") if family.type == "histogram" else ("",)
    return name in [family.name + end for end in more]


def parse(text):
    """{name: Family}; fails where anything is not as the format has it."""
    families, family = {}, None
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, what = line[7:].split(" ", 1)
            assert name not in families, f"{name} is in two places"
            assert what and not what.startswith(" "), line
            family = families[name] = Family(name, what)
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert family.name == name and family.type is None and not family.samples, line
            assert kind in ("counter", "gauge", "histogram"), line
            family.type = kind
        else:
            sample = SAMPLE.match(line)
            assert sample and is_name_of(family, sample[1]), line
            key = sample[1], labels_of(sample[2] or "")
            assert key not in family.samples, f"twice: {line}"
            family.samples[key] = float(sample[3])
    for family in families.values():
        check(family)
    return families


def check(family):
    assert family.samples, family.name
    assert family.type != "counter" or family.name.endswith("_total"), family.name
    assert family.type != "gauge" or not family.name.endswith("_total"), family.name
    assert not ABBREVIATED & set(family.name.split("_")), family.name
    if family.type == "counter":
        assert min(family.samples.values()) >= 0, family.name
    if family.type == "histogram":
        buckets = [(float(dict(labels)["le"].replace("+Inf", "inf")), n)
                   for (name, labels), n in family.samples.items() if name.endswith("_bucket")]
        assert [le for le, _ in buckets] == sorted({le for le, _ in buckets}), "bounds rise"
        assert [n for _, n in buckets] == sorted(n for _, n in buckets), "buckets are cumulative"
        assert buckets[-1][0] == math.inf
        assert buckets[-1][1] == family.samples[family.name + "_count", ()]
        assert family.samples[family.name + "_sum", ()] >= 0


def get(address, path="/metrics", method="GET", **headers):
    """(status, headers, text) of a controller's HTTP port at "HOST:PORT"."""
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=20)
    try:
        connection.request(method, path, headers={k.capitalize(): v for k, v in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def promtool(*words, text=None):
    """What Prometheus' own program says against it; None: it is not installed."""
    program = shutil.which("promtool")
    if not program:
        return None
    done = subprocess.run([program, *words], input=text, capture_output=True, text=True,
                          timeout=60, check=False)
    return done.stdout + done.stderr if done.returncode else ""
