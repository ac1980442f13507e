"""Other places to run the demo, by names that NET takes: on another kernel, or under a framework of
its own."""

import importlib

from testbed.net import system

PLACES = {"guest": "testbed.guest.demo", "virtual": "testbed.guest.demo",
          "spark": "testbed.spark.demo"}


def elsewhere(environment):
    """The exit status of the demo(environment) in the requested place; None for here."""
    if environment.get("NET") not in PLACES:
        return None
    if environment.get("CLUSTER"):
        raise system.Failure("CLUSTER is not for NET=%s: its hosts are alike" % environment["NET"])
    place = importlib.import_module(PLACES[environment["NET"]])  # it is made of the demo itself
    return place.outside(environment["NET"], environment)
