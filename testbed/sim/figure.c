#include "testbed/sim/figure.h"

#include "lib/xml.h"
#include "testbed/sim/figure_number.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 440, LEFT = 70, RIGHT = 16, PLOT_H = 200, BOTTOM = 48, TITLE_H = 26, ROW_H = 18 };
enum { PLOT_W = WIDTH - LEFT - RIGHT, TICKS = 5, X_TICKS = 8, LETTERS = 12 };
enum { BAR_LETTERS = 10, BAR_GAP = 3 };

/* Colours that people without red-green vision can tell apart, too (Okabe and Ito 2008). */
static const struct figure_style by_place[] = {{"#0072b2", FIGURE_SOLID, FIGURE_CIRCLE},
                                               {"#e69f00", FIGURE_DASHED, FIGURE_SQUARE},
                                               {"#009e73", FIGURE_DOTTED, FIGURE_TRIANGLE},
                                               {"#cc79a7", FIGURE_DASH_DOT, FIGURE_DIAMOND}};
static const char *const dashes[FIGURE_DASHES] = {"none", "6 3", "2 2", "8 3 2 3", "4 4", "1 3"};

static const struct figure_style *style_of(const struct figure *f, int series)
{
    const struct figure_style *own = f->series[series].style;
    return own ? own : &by_place[series % 4];
}

struct frame {
    const struct figure *f;
    FILE *out;
    double x_least, x_most, top, tick;
    double bar_label; /* bars: room for the values on them; 0: none are written */
    bool bar_turned;  /* they are written upwards */
    int y;            /* of the plot's upper edge */
};

/* An upper bound, in pixels: digits of a usual sans-serif face are .64 of their size wide. */
static double text_width(const char *words, double size)
{
    size_t letters = 0;
    for (; *words; words++)
        letters += ((unsigned char)*words & 0xc0) != 0x80;
    return .64 * size * (double)letters;
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

static double bar_width(const struct figure *f)
{
    return .84 * PLOT_W / (double)f->series[0].n / f->n_series;
}

/* Horizontally above its bar if the widest number has room there, else upwards, else not at all. */
static void plan_bar_labels(struct frame *at)
{
    const struct figure *f = at->f;
    double widest = 0;
    char label[FIGURE_NUMBER_MAX];
    for (int s = 0; s < f->n_series; s++)
        for (size_t i = 0; i < f->series[s].n; i++) {
            figure_number(f->series[s].y[i], label);
            widest = fmax(widest, text_width(label, BAR_LETTERS));
        }
    at->bar_turned = widest > bar_width(f);
    if (!at->bar_turned)
        at->bar_label = BAR_LETTERS + BAR_GAP;
    else if (bar_width(f) >= BAR_LETTERS)
        at->bar_label = widest + BAR_GAP;
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
    if (f->kind == FIGURE_BARS && f->n_series && f->series[0].n)
        plan_bar_labels(at);
    most *= PLOT_H / (PLOT_H - at->bar_label);
    at->tick = tick_of(most, TICKS);
    at->top = f->top > 0 ? f->top : fmax(at->tick, ceil(most / at->tick) * at->tick);
}

/* Leaves out a label without room after the one before; *free_from is where that ended. */
static void x_tick(const struct frame *at, double where, const char *label, double *free_from)
{
    double half = text_width(label, LETTERS) / 2, middle = fmin(where, WIDTH - half);
    fprintf(at->out, "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' stroke='#333'/>", where, where,
            at->y + PLOT_H, at->y + PLOT_H + 4);
    if (middle - half >= *free_from) {
        fprintf(at->out, "<text x='%.1f' y='%d' text-anchor='middle'>", middle,
                at->y + PLOT_H + 17);
        xml_text(at->out, label);
        fprintf(at->out, "</text>");
        *free_from = middle + half + 3;
    }
    fputc('\n', at->out);
}

static void x_number(const struct frame *at, double x, double most, double *free_from)
{
    char label[FIGURE_NUMBER_MAX];
    figure_tick(x, most, label);
    x_tick(at, place_x(at, x), label, free_from);
}

static void write_x_ticks(const struct frame *at)
{
    const struct figure *f = at->f;
    double free_from = 0;
    if (f->kind == FIGURE_BARS) {
        size_t n = f->n_series ? f->series[0].n : 0;
        for (size_t i = 0; i < n; i++)
            x_tick(at, LEFT + PLOT_W * ((double)i + .5) / (double)n, f->labels[i], &free_from);
    } else if (f->log_x) {
        double from = ceil(log10(at->x_least) - 1e-9), to = log10(at->x_most);
        double step = ceil((to - from + 1) / (TICKS + 2));
        for (double power = from; power <= to + 1e-9; power += fmax(step, 1))
            x_number(at, pow(10, power), pow(10, power), &free_from);
    } else {
        double tick = tick_of(at->x_most - at->x_least, X_TICKS);
        for (double x = ceil(at->x_least / tick) * tick; x <= at->x_most + tick * 1e-9; x += tick)
            x_number(at, fabs(x) < tick * 1e-9 ? 0 : x, at->x_most, &free_from);
    }
}

static void write_y_ticks(const struct frame *at)
{
    char label[FIGURE_NUMBER_MAX];
    for (double y = 0; y <= at->top * 1.0001; y += at->tick) {
        figure_tick(y, at->top, label);
        fprintf(at->out,
                "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' stroke='#ddd'/>"
                "<text x='%d' y='%.1f' text-anchor='end'>%s</text>\n",
                LEFT, LEFT + PLOT_W, place_y(at, y), place_y(at, y), LEFT - 6, place_y(at, y) + 4,
                label);
    }
}

static void write_axes(const struct frame *at)
{
    write_y_ticks(at);
    write_x_ticks(at);
    fprintf(at->out, "<text x='%d' y='%d' text-anchor='middle'>", LEFT + PLOT_W / 2,
            at->y + PLOT_H + 38);
    xml_text(at->out, at->f->x_name);
    fprintf(at->out,
            "</text>\n<text x='14' y='%d' text-anchor='middle' "
            "transform='rotate(-90 14 %d)'>",
            at->y + PLOT_H / 2, at->y + PLOT_H / 2);
    xml_text(at->out, at->f->y_name);
    fprintf(at->out, "</text>\n");
}

static void write_frame(const struct frame *at)
{
    fprintf(at->out, "<path d='M%d %dV%dH%d' fill='none' stroke='#333'/>\n", LEFT, at->y,
            at->y + PLOT_H, LEFT + PLOT_W);
}

static void write_marker(FILE *out, const struct figure_style *style, double x, double y)
{
    static const char *const shapes[FIGURE_MARKERS] = {
        "M-3.5 0A3.5 3.5 0 1 0 3.5 0A3.5 3.5 0 1 0 -3.5 0Z",
        "M-3 -3H3V3H-3Z",
        "M0 -4L4 3H-4Z",
        "M0 -4.5L4.5 0L0 4.5L-4.5 0Z",
        "M0 4L4 -3H-4Z",
        "M-3.5 -3.5L3.5 3.5M-3.5 3.5L3.5 -3.5"};
    fprintf(out, "<path d='%s' transform='translate(%.1f %.1f)' fill='%s' stroke='%s'/>\n",
            shapes[style->marker], x, y, style->colour, style->colour);
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
    const struct figure_style *style = style_of(at->f, series);
    bool steps = at->f->kind == FIGURE_STEPS;
    fprintf(at->out,
            "<polyline fill='none' stroke='%s' stroke-width='2' stroke-dasharray='%s' points='",
            style->colour, dashes[style->dashes]);
    for (size_t i = 0; i < s->n; i++) {
        if (steps && i)
            fprintf(at->out, "%.1f,%.1f ", place_x(at, s->x[i]), place_y(at, s->y[i - 1]));
        fprintf(at->out, "%.1f,%.1f ", place_x(at, s->x[i]), place_y(at, s->y[i]));
    }
    fprintf(at->out, "'/>\n");
    for (size_t i = 0; i < s->n && !steps; i++) {
        write_range(at, series, i, place_x(at, s->x[i]));
        write_marker(at->out, style, place_x(at, s->x[i]), place_y(at, s->y[i]));
    }
}

/* Above y, centred on a bar at x. */
static void write_bar_label(const struct frame *at, double value, double x, double y)
{
    char label[FIGURE_NUMBER_MAX];
    figure_number(value, label);
    if (at->bar_turned)
        fprintf(at->out,
                "<text x='%.1f' y='%.1f' font-size='%d' transform='rotate(-90 %.1f %.1f)'>%s"
                "</text>\n",
                x + .36 * BAR_LETTERS, y - BAR_GAP, BAR_LETTERS, x + .36 * BAR_LETTERS, y - BAR_GAP,
                label);
    else
        fprintf(at->out, "<text x='%.1f' y='%.1f' text-anchor='middle' font-size='%d'>%s</text>\n",
                x, y - BAR_GAP, BAR_LETTERS, label);
}

static void write_bars(const struct frame *at, int series)
{
    const struct figure_series *s = &at->f->series[series];
    double group = (double)PLOT_W / (double)s->n, width = bar_width(at->f);
    for (size_t i = 0; i < s->n; i++) {
        double x = LEFT + group * ((double)i + .08) + width * series, y = place_y(at, s->y[i]);
        fprintf(at->out,
                "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s' stroke='#fff' "
                "stroke-width='.5'/>\n",
                x, y, width, at->y + PLOT_H - y, style_of(at->f, series)->colour);
        write_range(at, series, i, x + width / 2);
        if (at->bar_label > 0)
            write_bar_label(at, s->y[i], x + width / 2,
                            s->most ? fmin(y, place_y(at, s->most[i])) : y);
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
    fprintf(at->out, "<polygon fill='%s' fill-opacity='.8' points='",
            style_of(at->f, series)->colour);
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
                band ? "#f3d9d9" : style_of(f, entry)->colour);
    } else {
        fprintf(out,
                "<line x1='%d' x2='%d' y1='%d' y2='%d' stroke='%s' stroke-width='2' "
                "stroke-dasharray='%s'/>",
                x, x + 18, y - 4, y - 4, style_of(f, entry)->colour,
                dashes[style_of(f, entry)->dashes]);
        if (f->kind == FIGURE_LINES)
            write_marker(out, style_of(f, entry), x + 9, y - 4);
    }
    fprintf(out, "<text x='%d' y='%d'>", x + 22, y);
    xml_text(out, band ? f->band_name : f->series[entry].name);
    fprintf(out, "</text>\n");
}

/* Writes it from `y` on; without `out` only measures it. Returns the height. */
static int legend(const struct figure *f, int y, FILE *out)
{
    int x = LEFT, rows = 1, n = f->n_series + (f->band_name != NULL);
    for (int s = 0; s < n; s++) {
        const char *name = s < f->n_series ? f->series[s].name : f->band_name;
        int width = 34 + (int)text_width(name, LETTERS);
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
    xml_text(out, f->title);
    fprintf(out, "</title><text x='%.0f' y='16' font-size='13' font-weight='bold'>",
            fmax(0, fmin(LEFT, WIDTH - text_width(f->title, 14))));
    xml_text(out, f->title);
    fprintf(out, "</text>\n");
    legend(f, TITLE_H + 12, out);
    write_bands(&at);
    write_axes(&at);
    /* WHY last: the first series is the important one, so it is drawn on top. */
    for (int s = f->n_series; s-- > 0;)
        (f->kind == FIGURE_BARS    ? write_bars
         : f->kind == FIGURE_AREAS ? write_area
                                   : write_line)(&at, s);
    write_frame(&at);
    fprintf(out, "</svg>\n");
}
