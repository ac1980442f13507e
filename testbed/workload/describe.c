#include "testbed/workload/describe.h"

#include "lib/printable.h"

#include <inttypes.h>

static const struct {
    const char *name;
    double below_bytes;
} classes[DESCRIBE_CLASSES] = {{"< 5 MB", 5e6},   {"5-50 MB", 50e6}, {"50-500 MB", 500e6},
                               {"0.5-5 GB", 5e9}, {"5-50 GB", 50e9}, {">= 50 GB", 1e300}};

static void class_add(struct describe_class *class, uint64_t maps, uint64_t reduces, uint64_t bytes)
{
    class->jobs++;
    class->maps += maps;
    class->reduces += reduces;
    class->bytes += bytes;
}

void describe_add(struct describe *describe, const struct workload_job *job, uint32_t scale)
{
    uint64_t maps = 0, reduces = 0, bytes = workload_job_shuffle_bytes(job);
    unsigned i = 0;
    for (uint32_t s = 0; s < job->n_stages; s++) {
        const struct workload_stage *stage = &job->stages[s];
        *(stage->n_parents ? &reduces : &maps) += stage->tasks;
        for (uint32_t t = 0; t < stage->tasks; t++) {
            describe->input_bytes += stage->input_bytes ? stage->input_bytes[t] : 0;
            describe->compute_ns += stage->compute_ns ? stage->compute_ns[t] : 0;
        }
    }
    while ((double)bytes * scale >= classes[i].below_bytes)
        i++;
    class_add(&describe->classes[i], maps, reduces, bytes);
    class_add(&describe->total, maps, reduces, bytes);
    describe->arrival_ns = job->arrival_ns;
}

static void print_row(FILE *out, const char *name, const struct describe_class *row,
                      uint64_t all_bytes)
{
    fprintf(out, "%-12s %9" PRIu64 " %10" PRIu64 " %10" PRIu64 " %14.1f %6.1f %%\n", name,
            row->jobs, row->maps, row->reduces, (double)row->bytes / 1e6,
            all_bytes ? 100.0 * (double)row->bytes / (double)all_bytes : 0.0);
}

void describe_print(const struct describe *describe, const struct workload_header *header,
                    FILE *out)
{
    const struct describe_class *all = &describe->total;
    double slot_s = (double)describe->compute_ns / 1e9, span_s = (double)describe->arrival_ns / 1e9;
    printable_put(header->description[0] ? header->description : "(no description)", out);
    fputc('\n', out);
    fprintf(out, "%-12s %9s %10s %10s %14s %8s\n", header->scale > 1 ? "unscaled" : "class", "jobs",
            "maps", "reduces", "shuffle MB", "share");
    for (unsigned i = 0; i < DESCRIBE_CLASSES; i++)
        if (describe->classes[i].jobs)
            print_row(out, classes[i].name, &describe->classes[i], all->bytes);
    print_row(out, "all", all, all->bytes);
    fprintf(out, "input %.1f MB, computing %.1f slot seconds, arrivals over %.1f s\n",
            (double)describe->input_bytes / 1e6, slot_s, span_s);
    if (header->link_bps)
        fprintf(out, "%u hosts at %.0f Mb/s: the shuffle takes %.1f s of all uplinks",
                header->hosts, (double)header->link_bps / 1e6,
                (double)all->bytes * 8 / ((double)header->link_bps * header->hosts));
    if (header->link_bps && header->slots)
        fprintf(out, ", computing %.1f s of all %" PRIu64 " slots",
                slot_s / ((double)header->slots * header->hosts),
                (uint64_t)header->slots * header->hosts);
    if (header->link_bps)
        fputc('\n', out);
}
