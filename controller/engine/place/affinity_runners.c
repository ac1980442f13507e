#include "controller/engine/place/affinity_runners.h"

#include "controller/engine/base/say.h"
#include "controller/engine/place/affinity_model.h"
#include "lib/plural.h"

#include <inttypes.h>
#include <stdio.h>

/* "12/0 as variant 1: 5.5 s predicted (1.0 s for its downlink), 4.0 s alone" */
static void say_one(const struct affinity_compared *one, enum affinity_by by, char *text,
                    size_t size)
{
    char way[32] = "", number[64] = "", wait[64] = "", predicted[32] = "never ends there";
    if (one->variant)
        snprintf(way, sizeof(way), " as variant %" PRIu32, one->variant);
    if (one->predicted_ns < AFFINITY_NEVER_NS)
        snprintf(predicted, sizeof(predicted), "%.1f s predicted", (double)one->predicted_ns / 1e9);
    if (by == AFFINITY_BY_SUM)
        snprintf(number, sizeof(number), ", %.1f s ahead", (double)one->number / 1e9);
    else if (by == AFFINITY_BY_RATE)
        snprintf(number, sizeof(number), ", progress %" PRIu64 " per mille", one->number);
    else if (by == AFFINITY_BY_WAIT)
        snprintf(number, sizeof(number), ", passed over for %" PRIu64 " start%s", one->number,
                 plural(one->number));
    if (one->wait_ns)
        snprintf(wait, sizeof(wait), " (%.1f s for its downlink)", (double)one->wait_ns / 1e9);
    snprintf(text, size, "%" PRIu64 "/%" PRIu32 "%s: %s%s, %.1f s alone%s", one->job, one->stage,
             way, predicted, wait, (double)one->lone_ns / 1e9, number);
}

void affinity_say_runners(const struct affinity_runners *runners, struct engine_explanation *e)
{
    char text[224], name[24];
    if (!runners->known)
        return;
    if (runners->downlinks) {
        say(e,
            " Of the time that was predicted its input was to wait %.1f s behind what was received "
            "there as urgently or more.",
            (double)runners->wait_ns / 1e9);
        say_fact(e, "downlink_wait", "%.1f s", (double)runners->wait_ns / 1e9);
    }
    say_fact(e, "compared_with", "%" PRIu32, runners->others);
    if (!runners->n) {
        say(e, " No other kind of stage could have run there.");
        return;
    }
    say(e, " Of %" PRIu32 " other kind%s of stages that could have run there came next",
        runners->others, plural(runners->others));
    for (uint32_t i = 0; i < runners->n; i++) {
        say_one(&runners->at[i], runners->by, text, sizeof(text));
        say(e, "%s %s", i ? ";" : ":", text);
        snprintf(name, sizeof(name), "runner_up_%" PRIu32, i + 1);
        say_fact(e, name, "%s", text);
    }
    say(e, ".");
}
