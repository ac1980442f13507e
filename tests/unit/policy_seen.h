/* Which reasons the policies have given, and what is said of them, for test_policy_reasons.c and
 * its scenes. */
#pragma once

#include "controller/engine/policy/questions.h"
#include "tests/model/model_step.h"

#include <stdarg.h>

enum { SEEN = 96 };

static struct {
    const struct policy *policy;
    enum decision_kind kind;
    enum reason reason;
} seen[SEEN];
static size_t n_seen;

static const struct policy_reason *entry_of(const struct policy *policy, enum decision_kind kind,
                                            enum reason reason)
{
    for (const struct policy_reason *r = policy->reasons; r && r->reason; r++)
        if (r->kind == kind && r->reason == reason)
            return r;
    return NULL;
}

static bool was_seen(const struct policy *policy, enum decision_kind kind, enum reason reason)
{
    for (size_t i = 0; i < n_seen; i++)
        if (seen[i].policy == policy && seen[i].kind == kind && seen[i].reason == reason)
            return true;
    return false;
}

/* A decision that this policy took. */
static void see(const struct policy *policy, const struct decision *d)
{
    const struct policy_reason *entry = entry_of(policy, d->kind, d->reason);
    if (!entry)
        fail_msg("%s gives a reason that its table has not: %s", policy->name,
                 reason_name(d->reason));
    assert_true(entry->left || d->left == 0);
    assert_true(entry->right || d->right == 0);
    if (was_seen(policy, d->kind, d->reason))
        return;
    assert_true(n_seen < SEEN);
    seen[n_seen].policy = policy;
    seen[n_seen].kind = d->kind;
    seen[n_seen++].reason = d->reason;
}

static void says(const struct engine_explanation *e, const char *format, ...)
{
    char words[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(words, sizeof(words), format, ap);
    va_end(ap);
    if (!strstr(e->text, words))
        fail_msg("\"%s\" does not say \"%s\"", e->text, words);
}
