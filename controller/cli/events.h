/* duopolyctl events: what happened of late, as far as the controller keeps it. And what watch.h
 * shares: which events are wanted, how they are read page by page, and their rows. */
#pragma once

#include "controller/cli/commands.h"

/* Which ones the command line asks for. */
struct event_filter {
    uint32_t kinds;           /* a bit for each; 0: all */
    uint32_t epoch;           /* with `after`; 0: not given */
    uint64_t after, since_ns; /* 0: not given */
    uint64_t limit;           /* UINT64_MAX: none */
};

/* A reading of events, page after page. Begin with zeros but for the filter and how it begins. */
struct event_reading {
    struct event_filter filter;
    bool coming;     /* it begins with what comes, */
    uint64_t newest; /* or with so many that are kept; 0: all of them */
    uint32_t epoch;  /* of the last page; 0: there was none */
    uint64_t seen[16];
    pb_size_t seen_count;
    bool more;                     /* the next page is there already */
    uint64_t rows, lost, restarts; /* so far: events, those that were not kept, and restarts */
};

int event_filter_parse(const struct request *request, struct event_filter *ret_filter,
                       struct err *err);

/* Begins the table of events, whose rows follow. */
void events_begin(struct writer *writer);

/* Asks for the next page, which may come `wait_ms` later, and writes its rows, at most `limit`
 * events in all. Also a row for what was lost, and for a restart of the controller since the last
 * page. Errors as client_call; −EOPNOTSUPP: the controller is older. */
int event_page_read(struct client *client, struct event_reading *reading, uint32_t wait_ms,
                    struct writer *writer, struct err *err);

/* A row about the reading itself; `lost` 0: no number. */
void event_remark_write(const char *what, const char *text, uint64_t lost, struct writer *writer);

int events_check(const struct request *request, struct err *err);
int run_events(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
