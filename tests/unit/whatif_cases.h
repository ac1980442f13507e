/* What tests of what-ifs share: a run of the simulator that is written down in its middle, and read
 * and run on again. */
#include "tests/unit/run_cases.h"

#include "controller/recording/recording_text.h"
#include "testbed/sim/whatif/whatif.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define MS INT64_C(1000000)

static const struct whatif_change nothing = {.host = ENGINE_NONE};

/* What the controller writes when it is asked (state_dump.h). */
struct photo {
    int64_t at_ns;
    char *text;
    size_t size;
};

static inline int photo_put(void *context, const char *bytes, size_t n)
{
    return fwrite(bytes, 1, n, context) == n ? 0 : -1;
}

static inline void photo_take(struct photo *photo, const struct engine *engine, int64_t now_ns)
{
    FILE *out = open_memstream(&photo->text, &photo->size);
    struct recording_text text = {.engine = engine,
                                  .scratch = malloc(engine_dump_room(engine)),
                                  .put = photo_put,
                                  .context = out};
    assert_int_equal(recording_text_state(&text, now_ns), 0);
    free(text.scratch);
    fclose(out);
}

static inline void time_passes(void *context, const struct engine *engine, int64_t from_ns,
                               int64_t to_ns)
{
    struct photo *photo = context;
    if (from_ns <= photo->at_ns && photo->at_ns < to_ns && !photo->text)
        photo_take(photo, engine, photo->at_ns);
}

static inline int read_text(const char *text, size_t size, struct state *ret_state, struct err *err)
{
    FILE *in = fmemopen((void *)(uintptr_t)text, size, "r");
    assert_non_null(in);
    int r = state_read(in, ret_state, err);
    fclose(in);
    return r;
}

static inline struct state state_of(const struct photo *photo)
{
    struct state state;
    struct err err = {0};
    assert_non_null(photo->text);
    if (read_text(photo->text, photo->size, &state, &err))
        fail_msg("%s", err.text);
    return state;
}

/* The state run on; the caller ends both. */
struct answer {
    struct present_jobs present;
    struct whatif_side side;
};

static inline struct answer ask_with(const struct photo *photo, const struct whatif_change *change,
                                     double headers)
{
    struct answer answer;
    struct err err = {0};
    struct state state = state_of(photo);
    if (present_jobs_make(&state, &answer.present, &err) ||
        whatif_run(&state, &answer.present, change, headers, &answer.side, &err))
        fail_msg("%s", err.text);
    state_done(&state);
    return answer;
}

static inline struct answer ask(const struct photo *photo, const struct whatif_change *change)
{
    return ask_with(photo, change, 0);
}

static inline void answer_done(struct answer *answer)
{
    whatif_side_done(&answer->side);
    present_jobs_done(&answer->present);
}

static inline double left_s(const struct answer *answer, uint64_t job)
{
    for (size_t i = 0; i < answer->present.n; i++)
        if (answer->present.jobs[i].id == job) {
            assert_int_equal(answer->side.ends[i], RUN_JOB_DONE);
            return answer->side.left_s[i];
        }
    return NAN;
}

/* One slot: job 1 runs, jobs 2 (4 s) and 3 (1 s) wait. */
static inline struct photo one_slot(const char *turn)
{
    struct workload_job jobs[3] = {
        job_of("{\"id\":1,\"name\":\"one\",\"stages\":[{\"tasks\":1,\"compute_ms\":2000}]}"),
        job_of("{\"id\":2,\"name\":\"two\",\"arrival_ms\":100,\"stages\":[{\"tasks\":1,"
               "\"compute_ms\":4000}]}"),
        job_of("{\"id\":3,\"name\":\"three\",\"arrival_ms\":200,\"stages\":[{\"tasks\":1,"
               "\"compute_ms\":1000}]}")};
    double jct_s[3];
    struct photo photo = {.at_ns = 500 * MS};
    struct run_config config = config_of("duopoly", 1, 1, 8 * UNIT);
    strcpy(config.engine.turn, turn);
    config.passes = time_passes;
    config.passer = &photo;
    simulate(&config, jobs, 3, jct_s);
    for (int i = 0; i < 3; i++)
        workload_job_done(&jobs[i]);
    return photo;
}
