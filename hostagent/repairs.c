#include "hostagent/repairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define MINUTE_NS 60000000000ull

struct repairs_port {
    UT_hash_handle hh;
    char name[64];
    bool left;
    uint64_t at_ns[REPAIRS_MOST]; /* a ring; 0: none */
    uint32_t n;
};

static struct repairs_port *find(const struct repairs *repairs, const char *name)
{
    struct repairs_port *port;
    HASH_FIND_STR(repairs->ports, name, port);
    return port;
}

static bool is_old(const struct repairs_port *port, uint64_t now_ns)
{
    return !port->left && now_ns - port->at_ns[(port->n - 1) % REPAIRS_MOST] >= MINUTE_NS;
}

static void forget_old(struct repairs *repairs, uint64_t now_ns)
{
    struct repairs_port *port, *next;
    HASH_ITER (hh, repairs->ports, port, next) {
        if (!is_old(port, now_ns))
            continue;
        HASH_DEL(repairs->ports, port);
        free(port);
    }
}

/* NULL: no room. */
static struct repairs_port *add(struct repairs *repairs, const char *name)
{
    struct repairs_port *port =
        HASH_COUNT(repairs->ports) < REPAIRS_PORTS ? calloc(1, sizeof(*port)) : NULL;
    if (!port)
        return NULL;
    snprintf(port->name, sizeof(port->name), "%s", name);
    HASH_ADD_STR(repairs->ports, name, port);
    return port;
}

bool repairs_may(struct repairs *repairs, const char *name, uint64_t now_ns)
{
    struct repairs_port *port = find(repairs, name);
    if (!port && HASH_COUNT(repairs->ports) == REPAIRS_PORTS)
        forget_old(repairs, now_ns);
    if (!port)
        port = add(repairs, name);
    if (!port || port->left)
        return false;
    uint64_t *oldest = &port->at_ns[port->n % REPAIRS_MOST];
    port->left = *oldest && now_ns - *oldest < MINUTE_NS;
    if (port->left)
        return false;
    *oldest = now_ns;
    port->n++;
    return true;
}

void repairs_leave(struct repairs *repairs, const char *name)
{
    struct repairs_port *port = find(repairs, name);
    if (!port)
        port = add(repairs, name);
    if (port)
        port->left = true;
}

bool repairs_is_left(const struct repairs *repairs, const char *name)
{
    const struct repairs_port *port = find(repairs, name);
    return port && port->left;
}

void repairs_forget(struct repairs *repairs)
{
    struct repairs_port *port, *next;
    HASH_ITER (hh, repairs->ports, port, next) {
        HASH_DEL(repairs->ports, port);
        free(port);
    }
}
