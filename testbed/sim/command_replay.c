/* duopoly-sim replay: decides a recording again. */
#include "lib/printable.h"
#include "testbed/sim/cluster/recording_replay.h"
#include "testbed/sim/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A line of a recording that somebody changed may have anything. */
static void line_print(const char *what, const char *line)
{
    fprintf(stderr, "  %-9s ", what);
    printable_put(line[0] ? line : "nothing", stderr);
    fputc('\n', stderr);
}

static int report(const char *path, const struct recording_replay_result *result)
{
    if (!result->first_difference_line) {
        fprintf(stderr,
                "%s: %" PRIu64 " steps, %" PRIu64 " events, %" PRIu64
                " decisions decided again, all equal%s\n",
                path, result->steps, result->events, result->decisions,
                result->torn ? "; its last line is torn and left out" : "");
        return 0;
    }
    fprintf(stderr,
            "%s:%" PRIu64 ": the engine decides otherwise than recorded (this program is of "
            "another version, or the recording was changed)\n",
            path, result->first_difference_line);
    line_print("recorded:", result->recorded);
    line_print("decided:", result->decided);
    return 1;
}

static int run_replay(int argc, char **argv)
{
    bool quiet = argc > 1 && strcmp(argv[1], "--quiet") == 0;
    if (argc != 2 + quiet || (argv[1 + quiet][0] == '-' && argv[1 + quiet][1])) {
        fprintf(stderr, "duopoly-sim replay: give one recording (or - for standard input), and "
                        "before it at most --quiet\n");
        return 2;
    }
    const char *path = argv[1 + quiet];
    FILE *recording = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!recording) {
        fprintf(stderr, "duopoly-sim replay: cannot open %s: %s\n", path, strerror(errno));
        return 1;
    }
    struct recording_replay_result result;
    struct err err = {0};
    int r = recording_replay(recording, quiet ? NULL : stdout, &result, &err);
    fclose(recording);
    if (r < 0) {
        fprintf(stderr, "duopoly-sim replay: %s: %s\n", path, err.text);
        return 1;
    }
    return report(path, &result);
}

const struct command command_replay = {"replay",
                                       "a recording decided again, compared byte for byte",
                                       "replay [--quiet] FILE", run_replay};
