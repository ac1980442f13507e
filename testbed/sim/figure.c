#include "testbed/sim/figure.h"

#include <math.h>

enum { WIDTH = 560, HEIGHT = 300, LEFT = 62, RIGHT = 130, TOP = 28, BOTTOM = 46 };
enum { PLOT_W = WIDTH - LEFT - RIGHT, PLOT_H = HEIGHT - TOP - BOTTOM, TICKS = 5 };

static const char *const colours[FIGURE_LINES] = {"#c0392b", "#e59866", "#1f618d", "#239b56",
                                                  "#7d3c98", "#566573", "#b7950b", "#117864"};

/* 1, 2 or 5 times a power of ten, at least a fifth of the largest value. */
static double tick_of(double most)
{
    double raw = most > 0 ? most / TICKS : 1, power = pow(10, floor(log10(raw)));
    double part = raw / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static double most_of(const struct figure *f)
{
    double most = 0;
    for (int l = 0; l < f->n_lines; l++)
        for (int p = 0; p < f->n_points; p++)
            most = fmax(most, f->y[l][p]);
    return most;
}

static double x_of(const struct figure *f, int point)
{
    return LEFT + PLOT_W * (point + .5) / f->n_points;
}

static void write_axes(const struct figure *f, double top, double tick, FILE *out)
{
    for (double y = 0; y <= top * 1.0001; y += tick) {
        double at = TOP + PLOT_H * (1 - y / top);
        fprintf(out,
                "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' stroke='#ddd'/>"
                "<text x='%d' y='%.1f' text-anchor='end'>%g</text>\n",
                LEFT, LEFT + PLOT_W, at, at, LEFT - 6, at + 4, y);
    }
    for (int p = 0; p < f->n_points; p++)
        fprintf(out, "<text x='%.1f' y='%d' text-anchor='middle'>%s</text>\n", x_of(f, p),
                TOP + PLOT_H + 16, f->labels[p]);
    fprintf(out,
            "<path d='M%d %dV%dH%d' fill='none' stroke='#333'/>"
            "<text x='%d' y='%d' text-anchor='middle'>%s</text>"
            "<text x='14' y='%d' text-anchor='middle' transform='rotate(-90 14 %d)'>%s</text>\n",
            LEFT, TOP, TOP + PLOT_H, LEFT + PLOT_W, LEFT + PLOT_W / 2, HEIGHT - 8, f->x_name,
            TOP + PLOT_H / 2, TOP + PLOT_H / 2, f->y_name);
}

static void write_line(const struct figure *f, int line, double top, FILE *out)
{
    fprintf(out, "<polyline fill='none' stroke='%s' stroke-width='2' points='", colours[line]);
    for (int p = 0; p < f->n_points; p++)
        fprintf(out, "%.1f,%.1f ", x_of(f, p), TOP + PLOT_H * (1 - f->y[line][p] / top));
    fprintf(out, "'/>\n");
}

static void write_bars(const struct figure *f, int line, double top, FILE *out)
{
    double width = .8 * PLOT_W / f->n_points / f->n_lines;
    for (int p = 0; p < f->n_points; p++) {
        double height = PLOT_H * f->y[line][p] / top;
        fprintf(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'/>\n",
                x_of(f, p) + width * (line - f->n_lines / 2.), TOP + PLOT_H - height, width, height,
                colours[line]);
    }
}

void figure_write(const struct figure *f, FILE *out)
{
    double most = most_of(f), tick = tick_of(most), top = fmax(tick, ceil(most / tick) * tick);
    fprintf(out,
            "<svg viewBox='0 0 %d %d' width='%d' font-family='sans-serif' font-size='11' "
            "role='img'><title>%s</title>"
            "<text x='%d' y='16' font-size='13'>%s</text>\n",
            WIDTH, HEIGHT, WIDTH, f->title, LEFT, f->title);
    write_axes(f, top, tick, out);
    for (int l = 0; l < f->n_lines; l++) {
        int y = TOP + 12 + 18 * l;
        if (f->bars)
            write_bars(f, l, top, out);
        else
            write_line(f, l, top, out);
        fprintf(
            out,
            "<rect x='%d' y='%d' width='12' height='4' fill='%s'/><text x='%d' y='%d'>%s</text>\n",
            LEFT + PLOT_W + 10, y - 4, colours[l], LEFT + PLOT_W + 27, y + 2, f->names[l]);
    }
    fprintf(out, "</svg>\n");
}
