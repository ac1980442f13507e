"""A Spark that was built for another Scala: the plug-in declines with one sentence. Needs the
plug-in, and Maven for those jars."""
import pathlib
import shutil
import subprocess

import pytest
from controller import BUILD, TOP

from plugins.spark import build

JAR = BUILD / "duopoly-spark.jar"
pytestmark = [pytest.mark.skipif(not JAR.exists(), reason="the plug-in is not built: make spark-plugin"),
              pytest.mark.skipif(not shutil.which("javac") or not shutil.which("mvn"), reason="there is no Java, or no Maven: make deps-spark")]


def test_scala_2_12_is_declined_politely(tmp_path):
    (version, jars), = build.wanted(pathlib.Path(__file__).parent / "spark" / "jars").items()
    try:
        files = build.checked(version, jars)
    except build.Missing as why:
        pytest.skip(str(why))
    path = ":".join(map(str, [JAR, *files]))
    subprocess.run(["javac", "-nowarn", "-proc:none", "-cp", path, "-d", tmp_path, TOP / "tests/net/spark/PoliteCheck.java"], check=True, capture_output=True)
    done = subprocess.run(["java", "-cp", f"{tmp_path}:{path}", "PoliteCheck"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    said, = done.stderr.splitlines()
    assert "duopoly is left out, Spark goes on without it" in said and "this Spark was built for Scala 2.12.18" in said, said
