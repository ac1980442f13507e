#include "testbed/sim/link_picture.h"

#include "testbed/sim/areas.h"

static const char *const names[LINK_PICTURE_PARTS] = {"carried", "awaits senders", "tasks held",
                                                      "nothing ready"};

void link_picture_listen(void *picture, const struct run_links *links)
{
    struct link_picture *p = picture;
    const double parts[TIME_BINS_PARTS] = {100 * links->carried, 100 * links->awaited,
                                           100 * links->held, 100 * links->nothing};
    time_bins_add(&p->bins, links->from_ns, links->to_ns, parts);
}

void link_picture_write(const struct link_picture *picture, const char *title, FILE *out)
{
    char said[LINK_PICTURE_PARTS][32];
    struct areas areas;
    struct figure f = {.kind = FIGURE_AREAS,
                       .title = title,
                       .x_name = "time, s",
                       .y_name = "downlinks' rate, %",
                       .top = 100,
                       .n_series = LINK_PICTURE_PARTS};
    areas_of(&picture->bins, &areas);
    for (unsigned i = 0; i < LINK_PICTURE_PARTS; i++) {
        snprintf(said[i], sizeof(said[i]), "%s %.0f %%", names[i],
                 time_bins_mean_of_all(&picture->bins, i));
        f.series[i] = areas_series(&areas, i, said[i]);
    }
    figure_write(&f, out);
}
