"""The counts of a report of pytest: python3 -m tests.junit_counts FILE prints "passed failed skipped"."""

import sys
import xml.etree.ElementTree as tree


def counts(path):
    suite = tree.parse(path).getroot().find("testsuite").attrib
    bad = int(suite["failures"]) + int(suite["errors"])
    return [int(suite["tests"]) - bad - int(suite["skipped"]), bad, int(suite["skipped"])]


if __name__ == "__main__":
    print(*counts(sys.argv[1]))
