"""The plug-in for Spark: one jar from one source, compiled against every version of Spark that
`jars` names.

    python3 -m plugins.spark.build JAR       makes it; where Java, Maven or what they fetch is
    missing it says so, and makes none

Spark's jars are fetched once, by Maven, and kept outside the checkout: in
$XDG_CACHE_HOME/duopoly/spark (~/.cache/duopoly/spark), some 100 MB. A jar with another SHA-256 than
`jars` says ends the build."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from testbed.net import system

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE / "src" / "duopoly" / "spark"
ENTRY = SOURCES / "Plugin.java"
# Spark's classes name annotations of libraries that nothing here needs.
LINT = ["-proc:none", "-Xlint:all,-classfile,-processing"]
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>duopoly</groupId><artifactId>jars</artifactId><version>1</version><dependencies>%s</dependencies></project>"""
DEPENDENCY = """<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>
<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"""


class Missing(Exception):
    """Why there is no plug-in, which is nobody's fault."""


def cache():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "duopoly" / "spark"


def wanted(path=HERE / "jars"):
    """Of each version of Spark its jars, as [coordinates, SHA-256]."""
    versions = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            version, coordinates, digest = line.split()
            versions.setdefault(version, []).append((coordinates.split(":"), digest))
    return versions


def file_of(coordinates):
    return "%s-%s.jar" % tuple(coordinates[1:])


def fetch(jars, folder):
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        pom = pathlib.Path(scratch) / "pom.xml"
        pom.write_text(POM % "".join(DEPENDENCY % tuple(coordinates) for coordinates, _digest in jars))
        done = subprocess.run(["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", f"-DoutputDirectory={scratch}/jars"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            words = [line for line in done.stdout.splitlines() if "ERROR" in line]
            raise Missing("Maven could not fetch what it is compiled against: %s" % (words[0] if words else "it does not say why"))
        shutil.copytree(f"{scratch}/jars", folder, dirs_exist_ok=True)


def checked(version, jars):
    """Their files, fetched where one is missing."""
    folder = cache() / version
    folder.parent.mkdir(parents=True, exist_ok=True)
    files = [folder / file_of(coordinates) for coordinates, _digest in jars]
    if not all(file.exists() for file in files):
        fetch(jars, folder)
    for file, (_coordinates, digest) in zip(files, jars):
        found = hashlib.sha256(file.read_bytes()).hexdigest()
        if found != digest:
            raise system.Failure("%s has the SHA-256 %s, not %s; remove it to have it fetched again" % (file, found, digest))
    return files


def compile_classes(jars, out):
    path = ":".join(map(str, jars))
    rest = sorted(source for source in SOURCES.glob("*.java") if source != ENTRY)
    for release, path_more, sources in (("8", "", [ENTRY]), ("17", f":{out}", rest)):
        done = subprocess.run(["javac", *LINT, "--release", release, "-cp", path + path_more, "-d", out, *sources],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise system.Failure(done.stdout)


def contents(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*.class"))}


def build(jar, scratch):
    made = {}
    for version, jars in wanted().items():
        out = pathlib.Path(scratch) / version
        out.mkdir()
        compile_classes(checked(version, jars), out)
        made[version] = contents(out)
    first = next(iter(made))
    for version, classes in made.items():
        if classes != made[first]:
            different = sorted(name for name in classes.keys() | made[first].keys() if classes.get(name) != made[first].get(name))
            raise system.Failure("Spark %s is not called as %s is, so one jar cannot serve both: %s" % (version, first, ", ".join(different)))
    jar.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["jar", "--create", "--file", f"{scratch}/made.jar", "--date=2026-01-01T00:00:00Z", "-C", f"{scratch}/{first}", "."], check=True)
    shutil.move(f"{scratch}/made.jar", jar)
    print("%s runs with Spark %s (Scala 2.13)" % (jar, ", ".join(made)))


def main(arguments):
    if len(arguments) != 2:
        print("usage: python3 -m plugins.spark.build JAR", file=sys.stderr)
        return 2
    pathlib.Path(arguments[1]).unlink(missing_ok=True)  # nobody takes an old one for this source's
    missing = [program for program in ("javac", "jar", "mvn") if not shutil.which(program)]
    try:
        if missing:
            raise Missing("there is no %s (make deps-spark brings it)" % ", ".join(missing))
        with tempfile.TemporaryDirectory() as scratch:
            build(pathlib.Path(arguments[1]), scratch)
    except Missing as why:
        print("left out: the plug-in for Spark, because %s" % why)
    except system.Failure as why:
        print(why, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
