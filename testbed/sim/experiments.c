#include "testbed/sim/experiments.h"

#include <math.h>
#include <stdlib.h>

#define NO_CLAIM                                                                                   \
    {                                                                                              \
        NAN, NAN, NAN, NAN                                                                         \
    }
#define COMPARED "duopoly,duopoly-i,aalo,neat"

const struct experiment experiments[] = {
    {.figure = 6,
     .title = "Fig. 6: each part replaced by a plain one",
     .policies = "duopoly-i,duopoly-ic,duopoly-im,duopoly-if,duopoly-ia",
     .claim = NO_CLAIM},
    {.figure = 7,
     .title = "Fig. 7: size of the cluster",
     .option = "servers",
     .values = "30,50,70,100,150",
     .x_name = "servers",
     .x_unit = 1,
     .policies = COMPARED,
     .claim = {38.00, 37.30, NAN, NAN}},
    {.figure = 8,
     .title = "Fig. 8: slots per server",
     .option = "slots",
     .values = "2,4,6,8,10,12,14",
     .x_name = "slots per server",
     .x_unit = 1,
     .policies = COMPARED,
     .claim = {38.40, 47.05, 1.74, 14.72}},
    {.figure = 9,
     .title = "Fig. 9: network load",
     .option = "load",
     .values = "0.4,0.6,0.8,1,1.2,1.4",
     .x_name = "factor on all bytes",
     .x_unit = 1,
     .policies = COMPARED,
     .claim = {43.51, 41.13, 18.21, 10.84}},
    {.figure = 10,
     .title = "Fig. 10: compute rate",
     .option = "compute",
     .values = "200M,600M,1000M,1400M,1800M",
     .x_name = "GB/s computed per slot",
     .x_unit = 1e9,
     .policies = COMPARED,
     .claim = {37.65, 38.55, 20.54, 15.61}},
    {.figure = 11,
     .title = "Fig. 11: topology (leaf-spine 4:1)",
     .option = "options",
     .values = "servers=64,servers=64+racks=4,servers=128,servers=128+racks=8",
     .labels = "64 flat,4 x 16 racks,128 flat,8 x 16 racks",
     .x_name = "servers on one big switch, or in racks",
     .policies = COMPARED,
     .claim = NO_CLAIM},
    {.figure = 12,
     .title = "Fig. 12: job order",
     .option = "turn",
     .values = "sjf,fair",
     .x_name = "order of jobs",
     .policies = COMPARED,
     .claim = NO_CLAIM},
    {.figure = 0,
     .title = "Beside them: size of a map task",
     .option = "map-mb",
     .values = "1000,256",
     .labels = "1000 MB,256 MB",
     .x_name = "most bytes of a map (MB of the trace)",
     .policies = COMPARED,
     .claim = NO_CLAIM},
    {0},
};

double experiment_number(const char *value)
{
    char *end;
    double number = strtod(value, &end);
    return number * (*end == 'k' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1);
}
