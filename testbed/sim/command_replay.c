/* duopoly-sim replay: a log's decisions again. */
#include "testbed/sim/cluster/log_replay.h"
#include "testbed/sim/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int report(const char *path, const struct log_replay_result *result)
{
    if (!result->first_difference_line) {
        fprintf(stderr,
                "%s: %" PRIu64 " steps, %" PRIu64 " events, %" PRIu64
                " decisions decided again, all equal\n",
                path, result->steps, result->events, result->decisions);
        return 0;
    }
    fprintf(stderr,
            "%s:%" PRIu64 ": the engine decides otherwise than recorded (this program is of "
            "another version, or the log was changed)\n",
            path, result->first_difference_line);
    fprintf(stderr, "  recorded: %s\n  decided:  %s\n",
            result->recorded[0] ? result->recorded : "nothing",
            result->decided[0] ? result->decided : "nothing");
    return 1;
}

static int run_replay(int argc, char **argv)
{
    bool quiet = argc > 1 && strcmp(argv[1], "--quiet") == 0;
    if (argc != 2 + quiet || (argv[1 + quiet][0] == '-' && argv[1 + quiet][1])) {
        fprintf(stderr, "duopoly-sim replay: give one log file (or - for standard input), and "
                        "before it at most --quiet\n");
        return 2;
    }
    const char *path = argv[1 + quiet];
    FILE *log = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!log) {
        fprintf(stderr, "duopoly-sim replay: cannot open %s: %s\n", path, strerror(errno));
        return 1;
    }
    struct log_replay_result result;
    struct err err = {0};
    int error = log_replay(log, quiet ? NULL : stdout, &result, &err);
    fclose(log);
    if (error < 0) {
        fprintf(stderr, "duopoly-sim replay: %s: %s\n", path, err.text);
        return 1;
    }
    return report(path, &result);
}

const struct command command_replay = {"replay",
                                       "a controller's log decided again, compared byte for byte",
                                       "replay [--quiet] LOG", run_replay};
