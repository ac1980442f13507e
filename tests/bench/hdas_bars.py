"""The source's figures beside what the kept sets predict: medians and bands from 5 to 95 % of the
sets, and bars."""
import collections
import math
import statistics

import hdas_runs
import hdas_sets

Row = collections.namedtuple("Row", "what source value bar met")
Row.__doc__ = """Texts; met None: it has no bar."""
Band = collections.namedtuple("Band", "low mid high")

EQUAL = "ABCDFIL"  # mixes in which the source finds affinity and model alike
OTHERS = "".join(mix for mix in hdas_sets.MIXES if mix not in EQUAL)
THREES = "KLMNOPQRST"


def percentile(values, part):
    """Between the two nearest."""
    values = sorted(values)
    place = part * (len(values) - 1)
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (place - below) * (values[above] - values[below])


def band(values):
    """Of what there is; None: there is nothing."""
    there = [value for value in values if value is not None]
    return Band(percentile(there, .05), statistics.median(there), percentile(there, .95)) \
        if there else None


def words(of, form):
    return "%s [%s, %s]" % (form % of.mid, form % of.low, form % of.high) if of else "none"


class Outcome:
    """What a kept set predicts: times by (mix, policy), mean task delays, and mix P in full."""

    def __init__(self, trial):
        self.values = trial.values
        self.run_s, self.delay, n_predicted, off = {}, {}, 0, 0
        for mix in hdas_sets.MIXES:
            for policy in (*hdas_runs.BASELINES, "affinity"):
                answer = trial.run(mix, policy)
                self.run_s[mix, policy] = answer["run_s"]
                self.delay[mix, policy] = hdas_runs.mean_delay(answer)
            n, off_by = hdas_runs.predicted(trial.run(mix, "affinity"))
            n_predicted, off = n_predicted + n, off + off_by
        self.off = off / n_predicted if n_predicted else None
        self.p = {policy: trial.run("P", policy, bins=hdas_runs.BINS)
                  for policy in hdas_runs.COMPARED}

    def times(self, policy, other="fifo", mixes=hdas_sets.MIXES):
        """By mix: run time ÷ another policy's."""
        return {mix: self.run_s[mix, policy] / self.run_s[mix, other] for mix in mixes}

    def less(self, policy, mixes=hdas_sets.MIXES):
        """Per cent of FIFO's run time that are saved, in the mean."""
        return 100 * (1 - statistics.mean(self.times(policy, mixes=mixes).values()))

    def most(self, policy, mixes=hdas_sets.MIXES):
        return 100 * (1 - min(self.times(policy, mixes=mixes).values()))

    def speed_ups(self, policy):
        return [1 / ratio for ratio in self.times(policy, hdas_runs.CPUS_ALONE).values()]


class Bars:
    def __init__(self, outcomes):
        self.outcomes, self.rows = outcomes, []

    def row(self, what, source, value, bar="", met=None):
        self.rows.append(Row(what, source, value, bar, met))

    def inside(self, what, source, values, form, bar=True):
        """The source's figure lies in the band."""
        of = band(values)
        met = (of is not None and of.low <= source <= of.high) if bar else None
        self.row(what, form % source, words(of, form), "inside the band" if bar else "", met)

    def each(self, figure):
        return [figure(outcome) for outcome in self.outcomes]

    def bands(self, figure):
        """By mix, of a function of an outcome and a mix."""
        return {mix: band([figure(outcome, mix) for outcome in self.outcomes])
                for mix in hdas_sets.MIXES}


def figure_1(bars):
    bars.inside("fig 1: model against FIFO on K to T, mean, %", 17.5,
                bars.each(lambda o: o.less("model", THREES)), "%.1f")
    bars.inside("fig 1: the best of them, %", 29.9,
                bars.each(lambda o: o.most("model", THREES)), "%.1f", bar=False)
    bars.inside("fig 1: mix P, %", 8.9, bars.each(lambda o: o.less("model", "P")), "%.1f",
                bar=False)


def figure_2(bars):
    for name, source in (("KNN", 4.2), ("NB", 3.1)):
        bars.inside("fig 2: mix P under model, delay of %s's GPU tasks" % name, source, bars.each(
            lambda o, name=name: hdas_runs.gpu_delay(o.p["model"], "P", name)), "%.2f")
    for policy in ("fifo", "model"):
        bars.inside("fig 2: mix P under %s, delay of all tasks" % policy, 1.6, bars.each(
            lambda o, policy=policy: o.delay["P", policy]), "%.2f")


def figures_6_and_8(bars):
    for policy, mean, best in (("affinity", 33.6, 50.5), ("model", 18.7, 35.7)):
        bars.inside("fig 8: %s against FIFO, mean, %%" % policy, mean, bars.each(
            lambda o, policy=policy: o.less(policy)), "%.1f")
        bars.inside("fig 8: %s, the best mix, %%" % policy, best, bars.each(
            lambda o, policy=policy: o.most(policy)), "%.1f", bar=False)
    below = statistics.median(bars.each(lambda o: (100 - o.less("affinity")) /
                                        (100 - o.less("model"))))
    bars.row("fig 8: affinity's mean run time ÷ model's, median", "%.2f" % (66.4 / 81.3),
             "%.3f" % below, "≤ 0.85", below <= .85)
    drf = band(bars.each(lambda o: o.less("drf")))
    bars.row("drf against FIFO, mean, %", "", words(drf, "%.1f"))
    for policy, mean in (("fifo", 14.3), ("model", 17.9), ("affinity", 21.9)):
        bars.inside("fig 6: %s's speed-up over CPUs alone, mean" % policy, mean, bars.each(
            lambda o, policy=policy: statistics.mean(o.speed_ups(policy))), "%.1f", bar=False)
    bars.inside("fig 6: affinity's best", 31.0,
                bars.each(lambda o: max(o.speed_ups("affinity"))), "%.1f", bar=False)


def mix_by_mix(bars):
    """By the median over the sets of affinity's run time ÷ model's."""
    ratios = {mix: of.mid for mix, of in bars.bands(
        lambda o, mix: o.run_s[mix, "affinity"] / o.run_s[mix, "model"]).items()}
    worst = max(ratios, key=ratios.get)
    bars.row("figs 6, 8: affinity's worst mix against model", "never slower",
             "%s %+.1f %%" % (worst, 100 * (ratios[worst] - 1)), "≤ +1 %", ratios[worst] <= 1.01)
    unlike = [mix for mix in EQUAL if abs(ratios[mix] - 1) > .03]
    bars.row("figs 6, 8: mixes %s where they differ" % ", ".join(EQUAL), "none",
             ", ".join("%s %+.1f %%" % (mix, 100 * (ratios[mix] - 1)) for mix in unlike) or "none",
             "none by over 3 %", not unlike)
    faster = [mix for mix in OTHERS if ratios[mix] < 1]
    bars.row("figs 6, 8: of the other %d mixes affinity is faster in" % len(OTHERS), "18",
             "%d" % len(faster), "≥ 14", len(faster) >= 14)


def figure_9(bars):
    def mean(outcome, policy):
        return statistics.mean(outcome.delay[mix, policy] for mix in hdas_sets.MIXES)

    of = band(bars.each(lambda o: mean(o, "affinity")))
    bars.row("fig 9: mean task delay under affinity", "1.2", words(of, "%.2f"), "median ≤ 1.2",
             of.mid <= 1.2)
    bars.inside("fig 9: under model", 1.6, bars.each(lambda o: mean(o, "model")), "%.2f", bar=False)
    few = band(bars.each(lambda o: sum(o.delay[mix, "affinity"] <= 1.1 for mix in hdas_sets.MIXES)))
    bars.row("fig 9: mixes with a delay ≤ 1.1 under affinity", "21 (≤ 1.06)", words(few, "%.0f"),
             "median ≥ 18", few.mid >= 18)
    for policy, source in (("fifo", 3.0), ("model", 3.0), ("affinity", 2.9)):
        of = band(bars.each(lambda o, policy=policy: o.delay["C", policy]))
        bars.row("fig 9: mix C under %s" % policy, "%.1f" % source, words(of, "%.2f"),
                 "median ≥ 2.5", of.mid >= 2.5)


def predictions(bars):
    of = band(bars.each(lambda o: o.off and 100 * o.off))
    bars.row("affinity's predictions, mean |took ÷ predicted − 1|, %", "", words(of, "%.0f"))


def figures_3_4_10(bars):
    for policy in hdas_runs.COMPARED:
        of = band(bars.each(lambda o, policy=policy: 100 * hdas_runs.lopsided(o.p[policy])))
        ours = policy == "affinity"
        bars.row("figs 3, 4, 10: mix P under %s, GPUs or disk idle beside the other full, %%"
                 % policy, "drawn", words(of, "%.0f"), "median ≤ 20" if ours else "",
                 of.mid <= 20 if ours else None)
    of = band(bars.each(lambda o: 100 * hdas_runs.cpu_part(o.p["affinity"], "P", "KNN")))
    bars.row("fig 10: mix P, KNN's tasks on CPUs under affinity, %", "100", words(of, "%.0f"),
             "median ≥ 80", of.mid >= 80)
    for policy in hdas_runs.COMPARED:
        of = band(bars.each(lambda o, policy=policy: hdas_runs.together(
            o.p[policy], "P", "NB", "BP")))
        ours = policy == "affinity"
        bars.row("fig 10: mix P under %s, NB and BP have GPUs of a host at once, part of the "
                 "rarer's time" % policy, "they alternate" if ours else "", words(of, "%.2f"),
                 "median ≥ .5" if ours else "", (of is not None and of.mid >= .5) if ours else None)


def figure_7(bars):
    for name, source in (("KNN", 82.8), ("Kmeans", 24.0), ("NB", 53.9)):
        parts = [100 * one.read_s / hdas_sets.lone_gpu_s(one) for one in (
            hdas_sets.application(o.values, name) for o in bars.outcomes)]
        of = band(parts)
        met = abs(of.low - source) < .05 and abs(of.high - source) < .05
        bars.row("fig 7: part of %s's lone GPU task that reads, %%" % name, "%.1f" % source,
                 words(of, "%.1f"), "the source's", met)


FIGURES = (figure_1, figure_2, figures_6_and_8, mix_by_mix, figure_9, figures_3_4_10, figure_7,
           predictions)


def of_source(outcomes):
    """All rows."""
    bars = Bars(outcomes)
    for figure in FIGURES:
        figure(bars)
    return bars
