#include "controller/engine/look/clauses.h"

#include "controller/engine/base/say.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/look/reason.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/hold.h"
#include "controller/engine/watch/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { UPLINKS_NAMED = 4 };

void say_resources(const struct resources *demand, const struct resources *amounts, char *text,
                   size_t size)
{
    static const char *const names[ENGINE_RESOURCES] = {[RES_SLOTS] = "slots",
                                                        [RES_CPU_MILLI] = "cpu_milli",
                                                        [RES_MEM_BYTES] = "mem_bytes",
                                                        [RES_GPU_MILLI] = "gpu_milli",
                                                        [RES_GPU_MEM_BYTES] = "gpu_mem_bytes",
                                                        [RES_IO_BYTES_S] = "io_bytes_s"};
    *text = '\0';
    for (int r = 0; r < ENGINE_RESOURCES; r++) {
        size_t used = strlen(text);
        if (demand->amount[r] > 0)
            snprintf(text + used, size - used, "%s%s %" PRId64, used ? ", " : "", names[r],
                     amounts->amount[r]);
    }
}

const char *said_host(const struct host *host)
{
    return host && host->name[0] ? host->name : "?";
}

/* The hosts whose uplinks are at or above cleared_permille, a few of them by name. */
static void say_uplinks(const struct engine *engine, struct engine_explanation *e)
{
    const size_t n = engine->warm.n;
    const struct sorted_node *node = sorted_first(&engine->warm);
    size_t said = 0;
    say(e, n == 1 ? "The uplink of" : "The uplinks of");
    for (; node && said < UPLINKS_NAMED; node = sorted_next(node)) {
        bool last = said + 1 == n;
        say(e, "%s %s",
            !said  ? ""
            : last ? " and"
                   : ",",
            said_host(container_of(node, const struct host, warm)));
        said++;
    }
    if (n > said)
        say(e, " and %zu %s", n - said, n - said == 1 ? "other" : "others");
    say(e, " %s at or above %u per mille", n == 1 ? "is" : "are", engine->config.cleared_permille);
}

static void say_word(const struct engine *engine, struct engine_explanation *e, const char *word,
                     const struct host *host, int64_t left, int64_t right)
{
    const struct job *first = order_first(engine);
    if (strcmp(word, "host") == 0)
        say(e, "%s", said_host(host));
    else if (strcmp(word, "left") == 0)
        say(e, "%" PRId64, left);
    else if (strcmp(word, "right") == 0)
        say(e, "%" PRId64, right);
    else if (strcmp(word, "right.1s") == 0)
        say(e, "%.1f", (double)right * 1e-9);
    else if (strcmp(word, "right.host") == 0)
        say(e, "%s", said_host(cluster_host(engine, (uint32_t)right)));
    else if (strcmp(word, "left.1s") == 0)
        say(e, "%.1f", (double)left * 1e-9);
    else if (strcmp(word, "left.3s") == 0)
        say(e, "%.3f", (double)left * 1e-9);
    else if (strcmp(word, "transfer") == 0)
        say(e, "%s", engine->network->order(engine->mode) == ORDER_COFLOW ? "Coflow" : "Macroflow");
    else if (strcmp(word, "first_job") == 0)
        say(e, "%" PRIu64, first ? first->number : 0);
    else if (strcmp(word, "uplinks") == 0)
        say_uplinks(engine, e);
}

void say_sentence(const struct engine *engine, struct engine_explanation *e, const char *sentence,
                  const struct host *host, int64_t left, int64_t right)
{
    char word[16];
    for (const char *at = sentence; *at;) {
        int text = (int)strcspn(at, "{"), length = 0;
        say(e, "%.*s", text, at);
        at += text;
        if (sscanf(at, "{%15[^}]}%n", word, &length) == 1 && length)
            say_word(engine, e, word, host, left, right);
        at += length;
        if (*at == '{' && !length)
            say(e, "%c", *at++);
    }
}

void engine_say_mode_why(const struct engine *engine, const struct decision *mode,
                         struct engine_explanation *ret_explanation)
{
    const struct policy_reason *entry = policy_reason(engine, DECISION_MODE, mode->reason);
    memset(ret_explanation, 0, sizeof(*ret_explanation));
    if (entry)
        say_sentence(engine, ret_explanation, entry->sentence, NULL, mode->left, mode->right);
}

void say_hold(const struct engine *engine, struct engine_explanation *e, const struct task *task)
{
    const struct policy_reason *entry = NULL;
    struct policy_why why = {0};
    if (engine->place->held) {
        why = engine->place->held(engine, task->stage, task);
        entry = policy_reason(engine, DECISION_HOLD, why.reason);
    }
    say(e, "Held back: ");
    if (entry)
        say_sentence(engine, e, entry->sentence, NULL, why.left, why.right);
    else
        say(e, "the placement policy before \"%s\" left it.", engine->place->policy.name);
    if (task->stage->held)
        say(e, " The hold ends after %.1f s at the latest.",
            (double)(hold_end_ns(task->stage) - engine->now_ns) / 1e9);
}

void say_user(const struct engine *engine, struct engine_explanation *e, const struct user *user)
{
    if (!engine->division->explain)
        return;
    say(e, " Its user %s ", user->name);
    say_fact(e, "user", "%u %s", user->number, user->name);
    say_fact(e, "user_share", "%u of %" PRIu64, user->share, engine->users_total);
    engine->division->explain(engine, user, e);
    say(e, ".");
}
