#include "hostagent/queues/qdisc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 16384 /* later steps are left out of the transcript */
#define MTU_BYTES  1500

/* One port, whatever its name. */
struct qdisc {
    struct port_tree tree;
    size_t used;
    char text[TEXT_BYTES];
};

static int recorder_open(struct qdisc **ret_qdisc, struct err *err)
{
    struct qdisc *qdisc = calloc(1, sizeof(*qdisc));
    if (!qdisc)
        return err_sys(err, ENOMEM, "recorder");
    *ret_qdisc = qdisc;
    return 0;
}

static void recorder_close(struct qdisc *qdisc)
{
    free(qdisc);
}

static int recorder_have(struct qdisc *qdisc, const char *port, struct port_tree *ret_have,
                         struct err *err)
{
    (void)port;
    (void)err;
    *ret_have = qdisc->tree;
    return 0;
}

static int recorder_record(struct qdisc *qdisc, const char *port, struct qdisc_record *ret_record,
                           struct err *err)
{
    (void)port;
    (void)err;
    bool foreign = qdisc->tree.root == PORT_FOREIGN;
    *ret_record = (struct qdisc_record){.text = ""};
    if (foreign)
        snprintf(ret_record->text, sizeof(ret_record->text), "%s\n", qdisc->tree.kind);
    return 0;
}

static void put_class(struct port_tree *tree, const struct port_class *class, bool leaf)
{
    uint32_t i = 0;
    while (i < tree->classes_n && tree->classes[i].minor != class->minor)
        i++;
    if (i == WANT_CLASSES)
        return;
    uint32_t limit = leaf                  ? class->limit_packets
                     : i < tree->classes_n ? tree->classes[i].limit_packets
                                           : 0;
    if (i == tree->classes_n)
        tree->classes_n++;
    tree->classes[i] = *class;
    tree->classes[i].limit_packets = limit;
}

static void delete_class(struct port_tree *tree, uint16_t minor)
{
    for (uint32_t i = 0; i < tree->classes_n; i++)
        if (tree->classes[i].minor == minor) {
            tree->classes_n--;
            memmove(&tree->classes[i], &tree->classes[i + 1],
                    (tree->classes_n - i) * sizeof(tree->classes[0]));
            return;
        }
}

static void apply_step(struct port_tree *tree, const struct port_step *step)
{
    switch (step->kind) {
    case STEP_ROOT:
        *tree = (struct port_tree){
            .root = PORT_OURS, .kind = "htb", .default_minor = step->default_minor};
        break;
    case STEP_CLASS:
        put_class(tree, &step->class, false);
        break;
    case STEP_LEAF:
        put_class(tree, &step->class, true);
        break;
    case STEP_CLASS_DELETE:
        delete_class(tree, step->class.minor);
        break;
    }
}

static void note_step(struct qdisc *qdisc, const char *port, const struct port_step *step)
{
    static const char *const words[] = {"root", "class", "leaf", "delete"};
    int n = snprintf(qdisc->text + qdisc->used, TEXT_BYTES - qdisc->used,
                     "%s %s %x prio %u rate %llu limit %u\n", port, words[step->kind],
                     step->class.minor, step->class.prio,
                     (unsigned long long)step->class.rate_bytes_s, step->class.limit_packets);
    if (n > 0 && qdisc->used + (size_t)n < TEXT_BYTES)
        qdisc->used += (size_t)n;
    qdisc->text[qdisc->used] = 0;
}

static int recorder_apply(struct qdisc *qdisc, const char *port, const struct port_step *steps,
                          uint32_t n, struct err *err)
{
    (void)err;
    for (uint32_t i = 0; i < n; i++) {
        apply_step(&qdisc->tree, &steps[i]);
        note_step(qdisc, port, &steps[i]);
    }
    return 0;
}

static int recorder_restore(struct qdisc *qdisc, const char *port,
                            const struct qdisc_record *record, struct err *err)
{
    (void)port;
    (void)err;
    char kind[sizeof(qdisc->tree.kind)];
    if (qdisc->tree.root != PORT_OURS)
        return 0;
    snprintf(kind, sizeof(kind), "%.*s", (int)strcspn(record->text, "\n"), record->text);
    qdisc_recorder_plant(qdisc, kind);
    return 0;
}

static int recorder_stats(struct qdisc *qdisc, const char *port, struct qdisc_stats *ret_stats,
                          struct err *err)
{
    (void)qdisc;
    (void)port;
    (void)err;
    *ret_stats = (struct qdisc_stats){0};
    return 0;
}

static int recorder_mtu(struct qdisc *qdisc, const char *port, uint32_t *ret_bytes, struct err *err)
{
    (void)qdisc;
    (void)port;
    (void)err;
    *ret_bytes = MTU_BYTES;
    return 0;
}

const char *qdisc_recorder_text(const struct qdisc *qdisc)
{
    return qdisc->text;
}

void qdisc_recorder_plant(struct qdisc *qdisc, const char *kind)
{
    qdisc->tree = (struct port_tree){.root = kind[0] ? PORT_FOREIGN : PORT_EMPTY};
    snprintf(qdisc->tree.kind, sizeof(qdisc->tree.kind), "%s", kind);
}

const struct qdisc_driver qdisc_recorder = {
    .name = "recorder",
    .want = want_tree,
    .open = recorder_open,
    .close = recorder_close,
    .have = recorder_have,
    .record = recorder_record,
    .apply = recorder_apply,
    .restore = recorder_restore,
    .stats = recorder_stats,
    .mtu = recorder_mtu,
};
