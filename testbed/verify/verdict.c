/* A verdict in words and as JSON. */
#include "testbed/verify/judge.h"

#include <arpa/inet.h>
#include <inttypes.h>

double judge_delay_ms(const struct judge_delays *delays, unsigned permille)
{
    size_t i = (delays->n * permille + 999) / 1000;
    return delays->n ? (double)delays->at_ns[i ? i - 1 : 0] / 1e6 : 0;
}

double judge_median_ms(const struct judge_delays *delays)
{
    size_t n = delays->n;
    return n ? (double)(delays->at_ns[(n - 1) / 2] + delays->at_ns[n / 2]) / 2e6 : 0;
}

static void print_delays(const char *what, const struct judge_delays *delays, FILE *out)
{
    if (delays->n == 0)
        fprintf(out, "  %s connections: none\n", what);
    else
        fprintf(out, "  %s connections: %zu, median %.2f ms, p99 %.2f ms, worst %.2f ms\n", what,
                delays->n, judge_median_ms(delays), judge_delay_ms(delays, 990),
                judge_delay_ms(delays, 1000));
}

static void print_end(const struct packet_end *end, FILE *out)
{
    char text[INET6_ADDRSTRLEN];
    if (IN6_IS_ADDR_V4MAPPED(&end->address))
        inet_ntop(AF_INET, end->address.s6_addr + 12, text, sizeof(text));
    else
        inet_ntop(AF_INET6, &end->address, text, sizeof(text));
    fprintf(out, "%s port %u", text, end->port);
}

/* A framework's attempts are known there by the lower half of the number. */
static void print_attempt(const struct truth_connection *c, FILE *out)
{
    fprintf(out, "attempt %" PRIu64, c->number);
    if (c->attempt->framework)
        fprintf(out, " (its framework's %" PRIu32 ", task %" PRIu64 " of stage %" PRIu64 ")",
                (uint32_t)c->number, c->attempt->task, c->attempt->stage);
}

static void print_example(const struct judge_example *e, FILE *out)
{
    const struct truth_connection *c = e->connection;
    fprintf(out, "  wrong: %" PRIu64 " (%" PRIu64 " bytes), the first from ", e->n, e->bytes);
    print_end(&e->key.from, out);
    fprintf(out, " to ");
    print_end(&e->key.to, out);
    fprintf(out, ": DSCP %u, but ", e->dscp);
    print_attempt(c, out);
    fprintf(out, " has %u; %.1f to %.1f ms after the connection was opened", e->expected,
            (double)(e->first_ns - c->opened_ns) / 1e6, (double)(e->last_ns - c->opened_ns) / 1e6);
    if (c->closed_ns != INT64_MAX)
        fprintf(out, ", which closed after %.1f ms", (double)(c->closed_ns - c->opened_ns) / 1e6);
    if (e->whose == JUDGE_NOBODYS)
        fprintf(
            out,
            "; a mark that was never its own, nor of the task that had the connection before\n");
    else
        fprintf(out, "; up to %.1f ms after %s\n", (double)e->longest_ns / 1e6,
                e->whose == JUDGE_ITS_OWN ? "it was its own" : "that of before");
}

static void print_stray(const struct judge_stray *s, FILE *out)
{
    const struct truth_connection *last = s->last;
    fprintf(out, "  unattributed: at %" PRId64 " ns, from ", s->packet.time_ns);
    print_end(&s->key.from, out);
    fprintf(out, " to ");
    print_end(&s->key.to, out);
    fprintf(out, ": DSCP %u, %u bytes, flags 0x%02x; ", s->packet.dscp, s->packet.payload_bytes,
            s->packet.flags);
    if (!last) {
        fprintf(out, "no task recorded such a connection\n");
        return;
    }
    fprintf(out, "attempt %" PRIu64 "%s opened it %.1f ms before", last->number,
            last->attempt ? "" : ", which the recording does not know,",
            (double)(s->packet.time_ns - last->opened_ns) / 1e6);
    if (last->closed_ns != INT64_MAX)
        fprintf(out, " and closed it %.1f ms before",
                (double)(s->packet.time_ns - last->closed_ns) / 1e6);
    fputc('\n', out);
}

void verdict_print(const struct verdict *v, const struct judge_windows *windows, FILE *out)
{
    fprintf(out,
            "%" PRIu64 " payload packets checked: %" PRIu64 " right, %" PRIu64
            " right when sent, %" PRIu64 " inside a switch's window, %" PRIu64 " wrong, %" PRIu64
            " unattributed",
            v->checked, v->right, v->late, v->in_window, v->wrong, v->unattributed);
    if (v->of_begin)
        fprintf(out, ", %" PRIu64 " of a task's first %" PRId64 " ms", v->of_begin,
                windows->begin_ns / 1000000);
    if (v->unlevelled)
        fprintf(out, ", %" PRIu64 " of tasks that have no level", v->unlevelled);
    if (v->lost)
        fprintf(out, "; %" PRIu64 " lost by the capture", v->lost);
    fputc('\n', out);
    if (v->in_window)
        fprintf(out,
                "  the window is %" PRId64 " ms; old marks after less than 20 ms: %" PRIu64
                ", 100 ms: %" PRIu64 ", 500 ms: %" PRIu64 ", later: %" PRIu64 "\n",
                windows->change_ns / 1000000, v->ages[0], v->ages[1], v->ages[2], v->ages[3]);
    for (unsigned i = 0; i < v->n_examples; i++)
        print_example(&v->examples[i], out);
    if (v->wrong_others)
        fprintf(out, "  wrong: %" PRIu64 " of further attempts\n", v->wrong_others);
    for (unsigned i = 0; i < v->n_strays; i++)
        print_stray(&v->strays[i], out);
    fprintf(out, "%" PRIu64 " mode switches, to the first payload packet with the new mark:\n",
            v->mode_changes);
    print_delays("flowing", &v->flowing, out);
    print_delays("  of them promoted", &v->promoted, out);
    print_delays("  of them demoted", &v->demoted, out);
    print_delays("starved", &v->starved, out);
    fprintf(out, "  ended, or switched again, before one came: %" PRIu64 "\n", v->unseen);
}

static void print_delays_json(const char *name, const struct judge_delays *delays, FILE *out)
{
    fprintf(out, ", \"%s\": {\"n\": %zu, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"worst_ms\": %.3f}",
            name, delays->n, judge_median_ms(delays), judge_delay_ms(delays, 990),
            judge_delay_ms(delays, 1000));
}

void verdict_print_json(const struct verdict *v, FILE *out)
{
    fprintf(out,
            "{\"checked\": %" PRIu64 ", \"right\": %" PRIu64 ", \"late\": %" PRIu64
            ", \"in_window\": %" PRIu64 ", \"wrong\": %" PRIu64 ", \"unattributed\": %" PRIu64
            ", \"unlevelled\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"of_begin\": %" PRIu64
            ", \"right_bytes\": %" PRIu64 ", \"late_bytes\": %" PRIu64
            ", \"window_bytes\": %" PRIu64 ", \"begin_bytes\": %" PRIu64
            ", \"wrong_bytes\": %" PRIu64 ", \"mode_switches\": %" PRIu64,
            v->checked, v->right, v->late, v->in_window, v->wrong, v->unattributed, v->unlevelled,
            v->lost, v->of_begin, v->right_bytes, v->late_bytes, v->window_bytes, v->begin_bytes,
            v->wrong_bytes, v->mode_changes);
    print_delays_json("flowing", &v->flowing, out);
    print_delays_json("promoted", &v->promoted, out);
    print_delays_json("demoted", &v->demoted, out);
    print_delays_json("starved", &v->starved, out);
    fprintf(out, ", \"unseen\": %" PRIu64 "}\n", v->unseen);
}
