"""Where else than here the demo runs, by names that NET takes: on another kernel."""


def guest(environment):
    from testbed.guest import demo  # it is made of the demo itself
    return demo.outside(environment)


PLACES = {"guest": guest}


def elsewhere(environment):
    """What runs the demo(environment) in the place that is asked for; None for here."""
    return PLACES.get(environment.get("NET"))
