/* Sentences about a switch's ports, for people. */
#include "hostagent/switches/switches_parts.h"

#include "lib/log.h"
#include "lib/plural.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SENTENCE (PORT_TEXT + 256)
#define NAMES    3 /* equal ports that are named; of more their number */

static bool has_port(const struct switch_ports *ports, const char *glob)
{
    for (uint32_t i = 0; i < ports->n; i++)
        if (port_pattern_matches(glob, ports->ports[i].name))
            return true;
    return false;
}

bool switches_lack(struct switches *switches, const struct switch_ports *ports, char *text,
                   size_t size)
{
    const struct switch_settings *settings = switches->settings;
    size_t n = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < settings->ports_n && n < size; i++)
        if (!has_port(ports, settings->ports[i].glob))
            n += (size_t)snprintf(text + n, size - n, "%s%s",
                                  n ? ", " : "the switch has no port yet that switch.ports calls ",
                                  settings->ports[i].glob);
    return n > 0;
}

void switches_warn(struct switches *switches)
{
    struct switch_ports *ports = NULL;
    char text[PORT_TEXT];
    if (switches->driver->ports(switches->sw, &ports, NULL) >= 0 &&
        switches_lack(switches, ports, text, sizeof(text)))
        log_warning(LOG_FAULT_CONFIGURATION, "%s", text);
    free(ports);
}

const char *switches_troubles(struct switches *switches, char *text, size_t size)
{
    struct switch_ports *ports = NULL;
    text[0] = 0;
    if (switches->troubles.n && switches->driver->ports(switches->sw, &ports, NULL) >= 0)
        troubles_say(&switches->troubles, ports->n, text, size);
    free(ports);
    return text;
}

bool switches_have_troubles(const struct switches *switches)
{
    return switches->troubles.left_n > 0;
}

bool switches_is_anothers(const struct switches *switches, const char *port)
{
    const struct switch_trouble *trouble = troubles_of(&switches->troubles, port);
    return trouble && trouble->code == EEXIST;
}

bool switches_tell(struct switches *switches)
{
    return troubles_log(&switches->troubles, &switches->told);
}

const char *switches_port_lacks(const struct switches *switches, const struct switch_port *port,
                                char *text, size_t size)
{
    const struct switch_trouble *trouble = troubles_of(&switches->troubles, port->name);
    struct port want;
    struct err err = {0};
    char what[PORT_TEXT];
    const char *less = trouble && trouble->left ? trouble->text
                       : port_want(&switches->wish, &port->facts, &want, &err) < 0
                           ? err.text
                           : port_compromises(&want, what, sizeof(what));
    snprintf(text, size, "%s", less);
    return text;
}

static bool is_left(const struct switches *switches, const char *port)
{
    const struct switch_trouble *trouble = troubles_of(&switches->troubles, port);
    return trouble && trouble->left;
}

const char *switches_port_by(struct switches *switches, const struct switch_port *port, char *text,
                             size_t size)
{
    snprintf(text, size, "%s", switches->driver->name);
    if (switches->driver->why)
        switches->driver->why(switches->sw, port->name, text, size);
    return text;
}

/* Without its name. */
static void say_port(struct switches *switches, const struct switch_port *port, char text[SENTENCE])
{
    char less[PORT_TEXT];
    size_t used = strlen(switches_port_by(switches, port, text, SENTENCE));
    if (switches_port_lacks(switches, port, less, sizeof(less))[0])
        snprintf(text + used, SENTENCE - used, "; %s", less);
}

/* "p0", "p0 and p1", "p0, p1, p2 and 45 others" */
static void say_names(const struct switch_ports *ports, uint32_t first, uint32_t n, char *text,
                      size_t size)
{
    uint32_t named = n > NAMES + 1 ? NAMES : n;
    size_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < named && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 !i           ? ""
                                 : i + 1 == n ? " and "
                                              : ", ",
                                 ports->ports[first + i].name);
    if (named < n && used < size)
        snprintf(text + used, size - used, " and %u others", n - named);
}

/* Adds to what stands there, as far as there is room. */
static void add(char *text, size_t size, const char *names, const char *sentence)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s%s%s", used ? ". " : "", names, names[0] ? ": " : "",
             sentence);
}

static void say_left(struct switches *switches, char *text, size_t size)
{
    for (uint32_t i = 0; i < switches->troubles.n; i++)
        if (switches->troubles.items[i].left)
            add(text, size, "", switches->troubles.items[i].text);
}

static void say_served(struct switches *switches, struct switch_ports *ports, char *text,
                       size_t size)
{
    char names[NAMES * SWITCH_PORT_NAME + 64], sentence[SENTENCE], next[SENTENCE];
    for (uint32_t i = 0, n; i < ports->n; i += n) {
        say_port(switches, &ports->ports[i], sentence);
        for (n = 1; i + n < ports->n; n++) {
            say_port(switches, &ports->ports[i + n], next);
            if (strcmp(next, sentence) != 0)
                break;
        }
        say_names(ports, i, n, names, sizeof(names));
        add(text, size, names, sentence);
    }
}

/* Those that are left move out of the list. */
static void drop_left(const struct switches *switches, struct switch_ports *ports)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < ports->n; i++)
        if (!is_left(switches, ports->ports[i].name))
            ports->ports[n++] = ports->ports[i];
    ports->n = n;
}

const char *switches_say(struct switches *switches, char *text, size_t size)
{
    struct switch_ports *ports = NULL;
    struct err err = {0};
    text[0] = 0;
    if (switches->driver->ports(switches->sw, &ports, &err) < 0) {
        snprintf(text, size, "%s", err.text);
        return text;
    }
    say_left(switches, text, size);
    drop_left(switches, ports);
    say_served(switches, ports, text, size);
    free(ports);
    return text;
}

const char *switches_names(struct switches *switches, char *text, size_t size)
{
    struct switch_ports *ports = NULL;
    char names[NAMES * SWITCH_PORT_NAME + 64];
    text[0] = 0;
    if (switches->driver->ports(switches->sw, &ports, NULL) < 0)
        return text;
    say_names(ports, 0, ports->n, names, sizeof(names));
    snprintf(text, size, "%u port%s%s%s%s", ports->n, plural(ports->n), ports->n ? " (" : "", names,
             ports->n ? ")" : "");
    size_t used = strlen(text);
    if (switches->troubles.left_n)
        snprintf(text + used, size - used, ", %u of them without queues of ours",
                 switches->troubles.left_n);
    free(ports);
    return text;
}
