#include "controller/engine/books/wishes.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/cluster.h"

#include <stdio.h>
#include <string.h>

uint64_t wishes_utility(const struct stage *of, const struct host *host)
{
    const struct stage *stage = of->first;
    uint64_t utility = 0;
    for (uint32_t i = 0; i < stage->n_wishes; i++) {
        const struct constraint_host words = host_words(host);
        utility +=
            constraint_is_met(stage->wishes[i].constraint, &words) ? stage->wishes[i].utility : 0;
    }
    return utility;
}

/* Takes a line: its length, and moves behind it. */
static size_t line_take(const char **at)
{
    size_t length = strcspn(*at, "\n");
    *at += length + ((*at)[length] == '\n');
    return length;
}

int wishes_told(const struct event *event)
{
    const struct u32s *utilities = &event->job_stage.utilities;
    const char *at = event->job_stage.wishes ? event->job_stage.wishes : "";
    uint32_t n = 0;
    for (; *at && n < ENGINE_WISHES_MAX; n++) {
        size_t length = line_take(&at);
        if (!length || length >= CONSTRAINT_MAX || n >= utilities->n || !utilities->at[n] ||
            utilities->at[n] > ENGINE_UTILITY_MAX)
            return -1;
    }
    return *at || n != utilities->n ? -1 : (int)n;
}

void wishes_make(struct engine *engine, struct stage *stage, const struct event *event)
{
    const char *at = event->job_stage.wishes;
    stage->n_wishes = event->job_stage.utilities.n;
    if (!stage->n_wishes)
        return;
    stage->wishes = engine_allocate(engine, stage->n_wishes, sizeof(*stage->wishes));
    for (uint32_t i = 0; i < stage->n_wishes; i++) {
        const char *line = at;
        memcpy(stage->wishes[i].constraint, line, line_take(&at));
        stage->wishes[i].utility = event->job_stage.utilities.at[i];
    }
}

void wishes_tell(const struct stage *stage, char *lines, uint32_t *utilities, struct event *event)
{
    *lines = '\0';
    for (uint32_t i = 0; i < stage->n_wishes; i++) {
        size_t used = strlen(lines);
        snprintf(lines + used, WISHES_LINES - used, "%s%s", i ? "\n" : "",
                 stage->wishes[i].constraint);
        utilities[i] = stage->wishes[i].utility;
    }
    event->job_stage.wishes = lines;
    event->job_stage.utilities = (struct u32s){utilities, stage->n_wishes};
}
