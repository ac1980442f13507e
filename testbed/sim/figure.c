#include "testbed/sim/figure.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 440, LEFT = 58, RIGHT = 16, PLOT_H = 200, BOTTOM = 48, TITLE_H = 26, ROW_H = 18 };
enum { PLOT_W = WIDTH - LEFT - RIGHT, TICKS = 5, X_TICKS = 8, LETTER = 7, BARS_LABELLED = 14 };

/* Told apart by those who see no red or green, too (Okabe and Ito 2008). */
static const char *const colours[FIGURE_SERIES] = {"#d55e00", "#e69f00", "#0072b2", "#009e73",
                                                   "#cc79a7", "#56b4e9", "#000000", "#999999",
                                                   "#7d3c98", "#b7950b"};
static const char *const area_colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7"};
static const char *const dashes[FIGURE_SERIES] = {"none", "6 3", "none", "2 2", "8 3 2 3",
                                                  "4 4",  "1 3", "none", "6 3", "2 2"};

static const char *colour_of(const struct figure *f, int series)
{
    return f->kind == FIGURE_AREAS ? area_colours[series % 4] : colours[series];
}

struct frame {
    const struct figure *f;
    FILE *out;
    double x_least, x_most, top, tick;
    int y; /* of the plot's upper edge */
};

void figure_text(FILE *out, const char *words)
{
    for (; *words; words++)
        if (*words == '<')
            fputs("&lt;", out);
        else if (*words == '&')
            fputs("&amp;", out);
        else
            fputc(*words, out);
}

/* 1, 2 or 5 times a power of ten, so that at most `most` + 1 of them fill the span. */
static double tick_of(double span, int most)
{
    double raw = span > 0 ? span / most : 1, power = pow(10, floor(log10(raw)));
    double part = raw / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static double place_x(const struct frame *at, double x)
{
    double from = at->x_least, to = at->x_most;
    if (at->f->log_x) {
        x = log10(x);
        from = log10(from);
        to = log10(to);
    }
    return LEFT + PLOT_W * (to > from ? (x - from) / (to - from) : .5);
}

static double place_y(const struct frame *at, double y)
{
    return at->y + PLOT_H * (1 - fmin(y, at->top) / at->top);
}

static double stacked_most(const struct figure *f)
{
    double most = 0;
    for (size_t i = 0; i < f->series[0].n; i++) {
        double sum = 0;
        for (int s = 0; s < f->n_series; s++)
            sum += f->series[s].y[i];
        most = fmax(most, sum);
    }
    return most;
}

static double y_most(const struct figure *f)
{
    double most = 0;
    if (f->kind == FIGURE_AREAS && f->n_series)
        return stacked_most(f);
    for (int s = 0; s < f->n_series; s++)
        for (size_t i = 0; i < f->series[s].n; i++)
            most = fmax(most, f->series[s].most ? f->series[s].most[i] : f->series[s].y[i]);
    return most;
}

static void find_range(struct frame *at)
{
    const struct figure *f = at->f;
    at->x_least = INFINITY;
    at->x_most = -INFINITY;
    for (int s = 0; f->kind != FIGURE_BARS && s < f->n_series; s++)
        for (size_t i = 0; i < f->series[s].n; i++) {
            at->x_least = fmin(at->x_least, f->series[s].x[i]);
            at->x_most = fmax(at->x_most, f->series[s].x[i]);
        }
    if (at->x_least > at->x_most) {
        at->x_least = 0;
        at->x_most = 1;
    }
    double margin = f->kind == FIGURE_LINES ? .04 * (at->x_most - at->x_least) : 0;
    at->x_least -= margin;
    at->x_most += margin;
    double most = f->top > 0 ? f->top : y_most(f);
    at->tick = tick_of(most, TICKS);
    at->top = f->top > 0 ? f->top : fmax(at->tick, ceil(most / at->tick) * at->tick);
}

static void x_tick(const struct frame *at, double where, const char *label)
{
    fprintf(at->out,
            "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' stroke='#333'/>"
            "<text x='%.1f' y='%d' text-anchor='middle'>",
            where, where, at->y + PLOT_H, at->y + PLOT_H + 4, where, at->y + PLOT_H + 17);
    figure_text(at->out, label);
    fprintf(at->out, "</text>\n");
}

static void x_number(const struct frame *at, double x)
{
    char label[32];
    snprintf(label, sizeof(label), "%g", x);
    x_tick(at, place_x(at, x), label);
}

static void write_x_ticks(const struct frame *at)
{
    const struct figure *f = at->f;
    if (f->kind == FIGURE_BARS) {
        size_t n = f->n_series ? f->series[0].n : 0;
        for (size_t i = 0; i < n; i++)
            x_tick(at, LEFT + PLOT_W * ((double)i + .5) / (double)n, f->labels[i]);
    } else if (f->log_x) {
        double from = ceil(log10(at->x_least) - 1e-9), to = log10(at->x_most);
        double step = ceil((to - from + 1) / (TICKS + 2));
        for (double power = from; power <= to + 1e-9; power += fmax(step, 1))
            x_number(at, pow(10, power));
    } else {
        double tick = tick_of(at->x_most - at->x_least, X_TICKS);
        for (double x = ceil(at->x_least / tick) * tick; x <= at->x_most + tick * 1e-9; x += tick)
            x_number(at, fabs(x) < tick * 1e-9 ? 0 : x);
    }
}

static void write_axes(const struct frame *at)
{
    for (double y = 0; y <= at->top * 1.0001; y += at->tick)
        fprintf(at->out,
                "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' stroke='#ddd'/>"
                "<text x='%d' y='%.1f' text-anchor='end'>%g</text>\n",
                LEFT, LEFT + PLOT_W, place_y(at, y), place_y(at, y), LEFT - 6, place_y(at, y) + 4,
                y);
    write_x_ticks(at);
    fprintf(at->out, "<text x='%d' y='%d' text-anchor='middle'>", LEFT + PLOT_W / 2,
            at->y + PLOT_H + 38);
    figure_text(at->out, at->f->x_name);
    fprintf(at->out,
            "</text>\n<text x='14' y='%d' text-anchor='middle' "
            "transform='rotate(-90 14 %d)'>",
            at->y + PLOT_H / 2, at->y + PLOT_H / 2);
    figure_text(at->out, at->f->y_name);
    fprintf(at->out, "</text>\n");
}

static void write_frame(const struct frame *at)
{
    fprintf(at->out, "<path d='M%d %dV%dH%d' fill='none' stroke='#333'/>\n", LEFT, at->y,
            at->y + PLOT_H, LEFT + PLOT_W);
}

static void write_marker(FILE *out, int series, double x, double y)
{
    static const char *const shapes[] = {"M-3.5 0A3.5 3.5 0 1 0 3.5 0A3.5 3.5 0 1 0 -3.5 0Z",
                                         "M-3 -3H3V3H-3Z",
                                         "M0 -4L4 3H-4Z",
                                         "M0 -4.5L4.5 0L0 4.5L-4.5 0Z",
                                         "M0 4L4 -3H-4Z",
                                         "M-3.5 -3.5L3.5 3.5M-3.5 3.5L3.5 -3.5"};
    fprintf(out, "<path d='%s' transform='translate(%.1f %.1f)' fill='%s' stroke='%s'/>\n",
            shapes[series % 6], x, y, colours[series], colours[series]);
}

static void write_range(const struct frame *at, int series, size_t i, double x)
{
    const struct figure_series *s = &at->f->series[series];
    if (s->least && s->most[i] > s->least[i])
        fprintf(at->out, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' stroke='#333'/>\n", x, x,
                place_y(at, s->least[i]), place_y(at, s->most[i]));
}

static void write_line(const struct frame *at, int series)
{
    const struct figure_series *s = &at->f->series[series];
    bool steps = at->f->kind == FIGURE_STEPS;
    fprintf(at->out,
            "<polyline fill='none' stroke='%s' stroke-width='2' stroke-dasharray='%s' points='",
            colours[series], dashes[series]);
    for (size_t i = 0; i < s->n; i++) {
        if (steps && i)
            fprintf(at->out, "%.1f,%.1f ", place_x(at, s->x[i]), place_y(at, s->y[i - 1]));
        fprintf(at->out, "%.1f,%.1f ", place_x(at, s->x[i]), place_y(at, s->y[i]));
    }
    fprintf(at->out, "'/>\n");
    for (size_t i = 0; i < s->n && !steps; i++) {
        write_range(at, series, i, place_x(at, s->x[i]));
        write_marker(at->out, series, place_x(at, s->x[i]), place_y(at, s->y[i]));
    }
}

static void write_bars(const struct frame *at, int series)
{
    const struct figure_series *s = &at->f->series[series];
    double group = (double)PLOT_W / (double)s->n, width = .84 * group / at->f->n_series;
    for (size_t i = 0; i < s->n; i++) {
        double x = LEFT + group * ((double)i + .08) + width * series, y = place_y(at, s->y[i]);
        fprintf(at->out,
                "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s' stroke='#fff' "
                "stroke-width='.5'/>\n",
                x, y, width, at->y + PLOT_H - y, colours[series]);
        write_range(at, series, i, x + width / 2);
        if ((int)s->n * at->f->n_series <= BARS_LABELLED)
            fprintf(at->out,
                    "<text x='%.1f' y='%.1f' text-anchor='middle' font-size='10'>%.3g</text>\n",
                    x + width / 2, (s->most ? fmin(y, place_y(at, s->most[i])) : y) - 3, s->y[i]);
    }
}

static double below(const struct figure *f, int series, size_t i)
{
    double sum = 0;
    for (int s = 0; s < series; s++)
        sum += f->series[s].y[i];
    return sum;
}

static void write_area(const struct frame *at, int series)
{
    const struct figure_series *s = &at->f->series[series];
    fprintf(at->out, "<polygon fill='%s' fill-opacity='.8' points='", colour_of(at->f, series));
    for (size_t i = 0; i < s->n; i++)
        fprintf(at->out, "%.1f,%.1f ", place_x(at, s->x[i]),
                place_y(at, below(at->f, series, i) + s->y[i]));
    for (size_t i = s->n; i-- > 0;)
        fprintf(at->out, "%.1f,%.1f ", place_x(at, s->x[i]), place_y(at, below(at->f, series, i)));
    fprintf(at->out, "'/>\n");
}

static void write_bands(const struct frame *at)
{
    for (size_t i = 0; i < at->f->n_bands; i++) {
        double from = place_x(at, at->f->bands[i].from), to = place_x(at, at->f->bands[i].to);
        fprintf(at->out, "<rect x='%.1f' y='%d' width='%.1f' height='%d' fill='#f3d9d9'/>\n", from,
                at->y, to - from, PLOT_H);
    }
}

static void write_key(const struct figure *f, int entry, int x, int y, FILE *out)
{
    bool band = entry == f->n_series;
    if (band || f->kind == FIGURE_BARS || f->kind == FIGURE_AREAS) {
        fprintf(out, "<rect x='%d' y='%d' width='14' height='10' fill='%s'/>", x, y - 9,
                band ? "#f3d9d9" : colour_of(f, entry));
    } else {
        fprintf(out,
                "<line x1='%d' x2='%d' y1='%d' y2='%d' stroke='%s' stroke-width='2' "
                "stroke-dasharray='%s'/>",
                x, x + 18, y - 4, y - 4, colours[entry], dashes[entry]);
        if (f->kind == FIGURE_LINES)
            write_marker(out, entry, x + 9, y - 4);
    }
    fprintf(out, "<text x='%d' y='%d'>", x + 22, y);
    figure_text(out, band ? f->band_name : f->series[entry].name);
    fprintf(out, "</text>\n");
}

/* Writes it from `y` on, or only measures it without `out`. Returns the height. */
static int legend(const struct figure *f, int y, FILE *out)
{
    int x = LEFT, rows = 1, n = f->n_series + (f->band_name != NULL);
    for (int s = 0; s < n; s++) {
        const char *name = s < f->n_series ? f->series[s].name : f->band_name;
        int width = 34 + LETTER * (int)strlen(name);
        if (x > LEFT && x + width > WIDTH) {
            x = LEFT;
            rows++;
        }
        if (out)
            write_key(f, s, x, y + ROW_H * (rows - 1), out);
        x += width;
    }
    return rows * ROW_H;
}

void figure_write(const struct figure *f, FILE *out)
{
    struct frame at = {.f = f, .out = out, .y = TITLE_H + legend(f, 0, NULL) + 8};
    int height = at.y + PLOT_H + BOTTOM;
    find_range(&at);
    fprintf(out,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' "
            "font-family='sans-serif' font-size='12' role='img'><title>",
            WIDTH, height, WIDTH, height);
    figure_text(out, f->title);
    fprintf(out, "</title><text x='%d' y='16' font-size='13' font-weight='bold'>", LEFT);
    figure_text(out, f->title);
    fprintf(out, "</text>\n");
    legend(f, TITLE_H + 12, out);
    write_bands(&at);
    write_axes(&at);
    /* The first series is the one that matters: it lies on top. */
    for (int s = f->n_series; s-- > 0;)
        (f->kind == FIGURE_BARS    ? write_bars
         : f->kind == FIGURE_AREAS ? write_area
                                   : write_line)(&at, s);
    write_frame(&at);
    fprintf(out, "</svg>\n");
}
