"""What a report of pytest says: python3 -m tests.junit FILE adds it to the files of $COUNTS, as tests/parts.sh reads them."""

import os
import sys
import xml.etree.ElementTree as tree


def id_of(case):
    """As pytest takes it."""
    return case.get("classname").replace(".", "/") + ".py::" + case.get("name")


class Report:
    def __init__(self, path):
        self._suite = tree.parse(path).getroot().find("testsuite")

    def counts(self):
        """Passed, failed, skipped."""
        said = self._suite.attrib
        bad = int(said["failures"]) + int(said["errors"])
        return [int(said["tests"]) - bad - int(said["skipped"]), bad, int(said["skipped"])]

    def skips(self):
        """Why, once for each test that was skipped."""
        return [(skipped.get("message") or "no reason was given").replace("\n", " ") for skipped in self._suite.iter("skipped")]

    def failed(self):
        """Ids; a test that failed and whose fixture failed, too, stands once."""
        bad = [case for case in self._suite.iter("testcase") if case.find("failure") is not None or case.find("error") is not None]
        return list(dict.fromkeys(map(id_of, bad)))

    def times(self):
        """Seconds by id."""
        return {id_of(case): float(case.get("time")) for case in self._suite.iter("testcase")}


def tell(counts, skips=(), failed=(), times=None, kernel="host"):
    """Adds them to $COUNTS (a line "passed failed skipped"), $COUNTS.skips (reasons), $COUNTS.failed (kernel, build folder, id) and
    $COUNTS.times (seconds, id)."""
    path, guest = os.environ.get("COUNTS"), "" if kernel == "host" else f"guest {kernel}: "
    if not path:
        return
    for end, lines in (("", [" ".join(map(str, counts))]), (".skips", [guest + why for why in skips]),
                       (".failed", ["\t".join((kernel, os.environ.get("BUILD", "build"), test)) for test in failed]),
                       (".times", ["%.1f\t%s%s" % (seconds, guest, test) for test, seconds in (times or {}).items()])):
        with open(path + end, "a") as file:
            file.writelines(line + "\n" for line in lines)


if __name__ == "__main__":
    report = Report(sys.argv[1])
    tell(report.counts(), report.skips(), report.failed(), report.times())
