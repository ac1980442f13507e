"""Rows of make bench-hdas that the source does not have: other readings of its lost formulas, wrong
profiles, and what each unknown does."""
import statistics

import hdas_bars
import hdas_runs
import hdas_sets

READINGS = [(stretch, progress) for stretch in ("asked", "parts") for progress in ("sum", "rate")]
SIGMA = ".3"


def said(stretch, progress):
    """Nothing for what holds without."""
    if (stretch, progress) == READINGS[0]:
        return ()
    return (("parameter", "stretch=" + stretch), ("parameter", "progress=" + progress))


def gains(trial, options=()):
    """Per cent of run time that affinity saves against FIFO and against model, in the mean of the
    mixes, and its mean task delay. Options are those of `affinity`, and of `model` where they say
    what a profile is."""
    of_model = tuple(pair for pair in options if pair[0] == "profile-error")
    against_fifo, against_model, delays = [], [], []
    for mix in hdas_sets.MIXES:
        ours = trial.run(mix, "affinity", options)
        against_fifo.append(ours["run_s"] / trial.run(mix, "fifo")["run_s"])
        against_model.append(ours["run_s"] / trial.run(mix, "model", of_model)["run_s"])
        delays.append(hdas_runs.mean_delay(ours))
    return (100 * (1 - statistics.mean(against_fifo)), 100 * (1 - statistics.mean(against_model)),
            statistics.mean(delays))


def of_readings(trial):
    """By reading, and under wrong profiles."""
    found = {"(3) %s, (6) %s" % reading: gains(trial, said(*reading)) for reading in READINGS}
    found["profiles wrong by σ = %s" % SIGMA] = gains(trial, (("profile-error", SIGMA),))
    return found


def of_unknown(make_trial, values, name):
    """By factor."""
    found = {}
    for factor in (.5, 2):
        trial = make_trial(hdas_sets.changed(values, name, factor))
        try:
            found[factor] = gains(trial)
        finally:
            trial.close()
    return found


def rows_of_readings(found):
    """found: of each kept set."""
    rows = []
    for reading in found[0]:
        for place, other in enumerate(("FIFO", "model")):
            of = hdas_bars.band([one[reading][place] for one in found])
            rows.append(hdas_bars.Row("%s: affinity against %s, mean, %%" % (reading, other), "",
                                      hdas_bars.words(of, "%.1f"), "median > 0", of.mid > 0))
        of = hdas_bars.band([one[reading][2] for one in found])
        rows.append(hdas_bars.Row("%s: mean task delay under affinity" % reading, "",
                                  hdas_bars.words(of, "%.2f"), "", None))
    return rows


def rows_of_unknowns(found):
    """found: by unknown, by factor."""
    rows = []
    for name, of in found.items():
        texts = ["%.1f, %.1f" % of[factor][:2] for factor in (.5, 2)]
        met = all(gain > 0 for factor in (.5, 2) for gain in of[factor][:2])
        rows.append(hdas_bars.Row("%s: affinity against FIFO, model, mean, %%" % name, "",
                                  "× ½: %s; × 2: %s" % tuple(texts), "all > 0", met))
    return rows
