/* What of the configuration came after its own record, in a dump. WHY records of their own: so that
 * older dumps can be read, the former ones keep their form; and what is not used is not written. */
#include "controller/engine/base/ground.h"
#include "controller/engine/dump/dump.h"

#include <errno.h>

#define C(name, kind) FIELD_OF(engine_config, name, kind)

enum {
    SOURCES,
    LONE,
    PROBES,
    ONCE,
    RERUNS,
    LOSSES,
    BEGUN,
    SHARES,
    LOOKED,
    SPARED,
    FRAMEWORKS,
    USERS,
    KINDS
};
static const struct record_kind config_kinds[KINDS] = {
    [SOURCES] = {"sources", {C(source_lost_ns, I64)}},
    [LONE] = {"lone_sources", {C(lone_sources_max, U32)}},
    [PROBES] = {"probes", {C(probe_ns, I64)}},
    [ONCE] = {"once", {C(hosts_count_once, BOOL)}},
    [RERUNS] = {"reruns", {C(reruns_max, U32)}},
    [LOSSES] = {"losses", {C(losses_max, U32)}},
    [BEGUN] = {"begun",
               {C(host_attempts_max, U32), C(host_starts_max, U32), C(step_starts_max, U32),
                FIELD_ADDED(engine_config, step_ready_max, U32)}},
    [SHARES] = {"shares",
                {C(memory_max, U64), C(framework_memory_max, U64), C(stage_tasks_max, U32)}},
    [LOOKED] = {"looked", {C(step_tasks_max, U32)}},
    [SPARED] = {"spared",
                {C(lapses_spared, U32), FIELD_ADDED(engine_config, lapses_of_keys, BOOL)}},
    [FRAMEWORKS] = {"frameworks", {C(framework_jobs_max, U32), C(allow_ns, I64)}},
    [USERS] = {"users",
               {{.member = "refuse_unknown",
                 .type = FIELD_BOOL,
                 .offset = offsetof(struct engine_config, refuse_unknown_users),
                 .size = sizeof(bool)}}},
};

static void tell(struct dumper *d, const struct engine_config *config, int kind, bool used)
{
    if (used)
        dump_record(d, &config_kinds[kind], config);
}

void config_dump(struct dumper *d, const struct engine_config *c)
{
    tell(d, c, SOURCES, c->source_lost_ns);
    tell(d, c, LONE, c->source_lost_ns && c->lone_sources_max);
    tell(d, c, PROBES, c->probe_ns);
    tell(d, c, ONCE, c->hosts_count_once);
    tell(d, c, RERUNS, c->reruns_max);
    tell(d, c, LOSSES, c->losses_max);
    tell(d, c, BEGUN,
         c->host_attempts_max || c->host_starts_max || c->step_starts_max || c->step_ready_max);
    tell(d, c, SHARES, c->memory_max || c->stage_tasks_max);
    tell(d, c, LOOKED, c->step_tasks_max);
    tell(d, c, SPARED, c->lapses_spared);
}

void config_dump_frameworks(struct dumper *d, const struct engine_config *c)
{
    tell(d, c, FRAMEWORKS, c->framework_jobs_max);
}

void config_dump_users(struct dumper *d, const struct engine_config *c)
{
    tell(d, c, USERS, c->refuse_unknown_users);
}

bool config_is_record(const char *line)
{
    return field_kind(config_kinds, KINDS, line, NULL) >= 0;
}

int config_load(struct engine *engine, const char *line, struct err *err)
{
    struct engine_config *c = &engine->config;
    int kind = field_kind(config_kinds, KINDS, line, err);
    int r = field_decode(&config_kinds[kind], line, NULL, c, err);
    if (r == 0 && (c->source_lost_ns < 0 || c->probe_ns < 0))
        return err_set(err, EINVAL, "%s must not be negative",
                       c->probe_ns < 0 ? "probe_ns" : "source_lost_ns");
    if (r == 0 && kind == FRAMEWORKS && c->allow_ns <= 0)
        return err_set(err, EINVAL, "allow_ns must be positive");
    return r;
}
