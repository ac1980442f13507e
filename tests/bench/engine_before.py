#!/usr/bin/python3
"""The engine beside the commit before: `make bench-engine` runs it behind the rows of bench-engine.

    engine_before.py BENCH COMMIT FOLDER     with today's bench-engine, a commit, and where to build
    that one's

WHY no figure is kept: on this machine alone, with others beside, decisions a second of one program
differ by 70 % from one minute to the next, and by 30 % when they are divided by what the memory
gives at the same time (column "per read"); on another machine by more. Two programs that take turns
have the same minute. So that commit is built with today's tests/bench/engine_main.c, both run
ROUNDS times in turn, and a row is MISSED where the median of ratios of decisions a second is below
LEAST. Rows with other starts than before are marked: such a commit changes decisions, and its rows
are no comparison of the same work. Exit status 1 where a row is missed, 2 where the commit before
cannot be measured like this."""
import pathlib
import shutil
import statistics
import subprocess
import sys

ROUNDS, STEPS, HOSTS, LEAST = 5, 40000, 1000, 0.9


def build(commit, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", commit], check=True, capture_output=True).stdout
    subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
    shutil.copy("tests/bench/engine_main.c", folder / "tests/bench/engine_main.c")
    made = subprocess.run(["make", "-C", folder, "build/bench-engine"], capture_output=True, text=True)
    if made.returncode:
        sys.exit(f"engine_before: {commit} does not build with today's tests/bench/engine_main.c: measure it by hand:\n"
                 + made.stderr[-2000:])
    return folder / "build/bench-engine"


def rows(bench):
    """{(policy, hosts, of unlike ones with u or v): (decisions a second, starts)}"""
    said = subprocess.run([bench, str(STEPS), "all", str(HOSTS)], capture_output=True, text=True).stdout
    words = [line.replace(" MISS", "").split() for line in said.splitlines()]
    return {(w[0], w[1]): (float(w[3]), w[-1]) for w in words if len(w) == 11 and w[1].rstrip("uv").isdigit()}


def main():
    bench, commit, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    before = build(commit, folder)
    rounds = [(rows(before), rows(bench)) for _ in range(ROUNDS)]
    missed = 0
    print(f"beside {commit}, the median of {ROUNDS} rounds in turn; bar: {LEAST}")
    for key in rounds[0][1]:
        ratio = statistics.median(now[key][0] / then[key][0] for then, now in rounds)
        other = "" if rounds[0][0][key][1] == rounds[0][1][key][1] else "   other starts"
        missed += ratio < LEAST
        print(f"{key[0]:8} {key[1]:6} {ratio:6.2f} times as many decisions a second"
              f"{' MISSED' if ratio < LEAST else ''}{other}")
    sys.exit(missed > 0)


main()
