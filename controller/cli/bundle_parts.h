/* The parts of a support bundle (bundle.h): each is added to the tar file, or named as missing. A
 * part that is missing or cut is no error; that the tar file cannot be written is one. */
#pragma once

#include "controller/cli/commands.h"
#include "controller/cli/tar.h"

#include <stdio.h>

#define BUNDLE_FOLDER    "duopoly-support/"
#define BUNDLE_AT_ONCE   (8 << 20)             /* bytes of a part that is made in memory */
#define BUNDLE_RECORDING (UINT64_C(128) << 20) /* of a recording */
#define BUNDLE_MOST      (UINT64_C(180) << 20) /* of all parts, but for README and machine/ */

struct bundle {
    struct client *client; /* NULL: nobody answers */
    bool remote;           /* the controller is elsewhere */
    struct tar *tar;
    struct writer *writer; /* of the command's own answer: a table of parts */
    FILE *index;           /* the same for the README */
    char *bytes;           /* BUNDLE_AT_ONCE of them, in which parts are made */
    char mute[640];        /* why nobody answers (any more) */
    char lacks[256];       /* names of the first parts that could not be had, */
    unsigned more;         /* and how many more there are */
    char config[256], state[256], recording[256]; /* its paths; "": none, or unknown */
};

/* Adds n bytes, or names them as left out where there is no room. */
int bundle_add(struct bundle *bundle, const char *name, const char *bytes, size_t n,
               const char *note, struct err *err);
/* Adds what `fd` has, at most so much of it. */
int bundle_add_file(struct bundle *bundle, const char *name, int fd, uint64_t most,
                    struct err *err);
/* Names a part that is not there, or not whole. */
void bundle_lack(struct bundle *bundle, const char *name, uint64_t bytes, const char *why);

/* A stream into bundle->bytes: what is too much is dropped, and `cut`. */
struct bundle_sink {
    char *bytes;
    size_t used;
    bool cut;
};
/* NULL: no memory. */
FILE *bundle_sink_open(struct bundle *bundle, struct bundle_sink *ret_sink);

/* What the controller answers, as tables for people and as JSON. */
int bundle_answers(struct bundle *bundle, struct err *err);
/* Its configuration, recording and log; versions, and what the kernel tells of this machine. */
int bundle_machine(struct bundle *bundle, struct err *err);
