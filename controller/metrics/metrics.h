/* The controller's HTTP port: /metrics (scrape.h), /healthz (the loop turns) and /readyz (it takes
 * work; else 503 and why). Off unless the configuration opens it.
 *
 * Who can reach it may ask, so without a token it is on loopback only; with one, /metrics is given
 * to those who show it (Authorization: Bearer), the other two to everybody. GET alone; bodies are
 * refused. What is asked in what way changes nothing.
 *
 * Bounds: METRICS_CONNECTIONS connections; more wait. Each is ended after METRICS_IDLE_S silent
 * seconds, and METRICS_WHOLE_S after its begin, or its last answer's end, if it does not have the
 * next answer by then: else peers that send or read a byte now and then keep all places.
 *
 * A text of /metrics is made in portions (controller/portions.h), for all who ask meanwhile, to its
 * end even if they go, and given again until it is ten times as old as it took to make, so scraping
 * takes a tenth of the loop at most; METRICS_TEXTS different ones may be on their way to slow
 * readers, then /metrics is answered by 503.
 *
 * It runs in the daemon's loop, by libmicrohttpd: no thread. */
#pragma once

#include "controller/clients/listing.h"

#include <systemd/sd-event.h>

#define METRICS_CONNECTIONS 64u
#define METRICS_IDLE_S      10u
#define METRICS_WHOLE_S     20u
#define METRICS_TEXTS       8u

struct metrics;

/* Whether the settings can be used here: the token's file is read. Not whether the port is free. */
int metrics_check(const struct settings *settings, struct err *err);

/* How many connections it may have: 0 if it is off. */
uint32_t metrics_connections(const struct settings *settings);

/* Listens, or does nothing where the configuration says `none` (*ret_metrics is then NULL). What
 * comes waits until metrics_attach and the loop. −EADDRINUSE, −EACCES, … with a sentence. */
int metrics_open(sd_event *loop, const struct settings *settings, struct metrics **ret_metrics,
                 struct err *err);
/* `sources` is copied; what it refers to is borrowed until close. NULL is fine. */
void metrics_attach(struct metrics *metrics, const struct listing_sources *sources);

/* The address with its real port: "127.0.0.1:7601". */
const char *metrics_address(const struct metrics *metrics);

/* NULL is fine. */
void metrics_close(struct metrics *metrics);
