#include "testbed/sim/cluster/own_links.h"

#include "testbed/sim/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 64 };

struct both {
    uint32_t up, down;
};

/* The two links that a name begins with; *ret_rest: what follows, NULL: no such links. */
static struct both find(const struct topology *t, const char *name, const char **ret_rest)
{
    uint32_t host, rack, spine;
    int n = 0;
    *ret_rest = NULL;
    if (sscanf(name, "h%9" SCNu32 "%n", &host, &n) == 1 && n && host < t->n_hosts) {
        *ret_rest = name + n;
        return (struct both){host, t->n_hosts + host};
    }
    if (sscanf(name, "r%9" SCNu32 ".s%9" SCNu32 "%n", &rack, &spine, &n) == 2 && n &&
        rack < t->n_racks && spine < t->n_spines) {
        *ret_rest = name + n;
        return (struct both){topology_core_link(t, rack, spine, true),
                             topology_core_link(t, rack, spine, false)};
    }
    return (struct both){0, 0};
}

static int set_named(struct topology *t, const char *name, double bytes_s, struct err *err)
{
    const char *rest;
    struct both links = find(t, name, &rest);
    bool up = rest && strcmp(rest, ".down") != 0, down = rest && strcmp(rest, ".up") != 0;
    if (!rest || (*rest && up && down))
        return err_set(
            err, EINVAL,
            "--link knows no '%s' here: links are h0 to h%u%s, with .up or .down for one "
            "direction",
            name, t->n_hosts - 1, t->n_spines ? " and rRACK.sSPINE" : "");
    int r = up ? topology_set_link(t, links.up, bytes_s, err) : 0;
    return !r && down ? topology_set_link(t, links.down, bytes_s, err) : r;
}

static int read_word(struct topology *t, const char *word, size_t length, struct err *err)
{
    char copy[WORD_MAX];
    double bytes_s;
    if (length >= sizeof(copy))
        return err_set(err, EINVAL, "--link: '%.40s…' is too long for NAME=RATE", word);
    memcpy(copy, word, length);
    copy[length] = '\0';
    char *rate = strchr(copy, '=');
    if (!rate)
        return err_set(err, EINVAL, "--link: '%s' is not NAME=RATE", copy);
    *rate++ = '\0';
    int r = units_parse_rate(rate, &bytes_s, err);
    return r ? r : set_named(t, copy, bytes_s, err);
}

int own_links_read(struct topology *topology, const char *text, struct err *err)
{
    for (;;) {
        size_t length = strcspn(text, ",");
        int r = read_word(topology, text, length, err);
        if (r || !text[length])
            return r;
        text += length + 1;
    }
}
