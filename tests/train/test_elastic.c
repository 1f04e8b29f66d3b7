/* Elastic runs, in one process: what a launcher says to a rank is read, whatever it is; and a snapshot gives back what
 * training has changed since, of either generation. */
#include "apps/session/weights.h"
#include "designs/elastic/elastic_start.h"
#include "apps/train/snapshot.h"
#include "dag/base/rng.h"
#include "dag/kernels/loss.h"
#include "tests/support/testing.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a launcher says ---- */

static const char first[] = "1 4 3 2 9 8 77 f00d first 127.0.0.1:10,127.0.0.1:11,127.0.0.1:12",
                  joins[] = "2 3 2 5 0 1 0 t join [::1]:10,host:9";

START_TEST(a_rank_starts)
{
    tutti_elastic_start s;
    ck_assert_ptr_null(tutti_elastic_start_read(first, &s));
    ck_assert_int_eq(s.least, 1);
    ck_assert_int_eq(s.most, 4);
    ck_assert_int_eq(s.ranks, 3);
    ck_assert_int_eq(s.door, 9);
    ck_assert_int_eq(s.report, 8);
    ck_assert_uint_eq(s.run, 77);
    ck_assert_str_eq(s.token, "f00d");
    ck_assert_int_eq(s.first.n, 3);
    ck_assert_int_eq(s.first.entry[1].id, 1);
    ck_assert_int_eq(s.self.id, 2);
    ck_assert_str_eq(s.self.address, "127.0.0.1:12");
    ck_assert_ptr_null(tutti_elastic_start_read(joins, &s));
    ck_assert_int_eq(s.first.n, 0);
    ck_assert_int_eq(s.self.id, 5);
    ck_assert_str_eq(s.self.address, "[::1]:10");
    ck_assert_str_eq(s.contact, "host:9");
}
END_TEST

START_TEST(wrong_words)
{
    static const char *const wrong[] = {"", " ", "1", "1 4 2 9 8 77 f00d first",
        "4 1 1 0 9 8 7 t first a:1", "0 4 1 0 9 8 7 t first a:1", "1 65 1 0 9 8 7 t first a:1",
        "1 4 1 -1 9 8 7 t first a:1", "1 4 1 0 x 8 7 t first a:1", "1 4 1 0 9 8 -7 t first a:1",
        "1 4 1 1 9 8 7 t first a:1", "1 4 1 0 9 8 7 t first a:1,b:1", "1 4 2 0 9 8 7 t first a:1",
        "2 4 1 0 9 8 7 t first a:1", "1 4 5 0 9 8 7 t join a:1,b:1",
        "1 4 2 0 9 8 7 t first a:1,,b:1", "1 4 1 0 9 8 7 t first a:1 more",
        "1 4 2 0 9 8 7 t come a:1,b:1", "1 4 1 0 9 8 7 t join a:1",
        "1 4 1 0 9 8 7 t join a:1,b:1,c:1", "1 4 1 0  9 8 7 t join a:1,b:1",
        "1 4 1 0 9 x 7 t first a:1"};
    tutti_elastic_start s;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(tutti_elastic_start_read(wrong[i], &s), "'%s'", wrong[i]);
}
END_TEST

/* What is damaged is read within its bounds, and gives numbers within theirs. */
START_TEST(damaged_words)
{
    enum { ROUNDS = 20000 };
    static const char letters[] = " ,:-019a";
    uint64_t dice = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char text[sizeof first + 64];
        tutti_elastic_start s;
        size_t length = (size_t)snprintf(text, sizeof text, "%s", round % 2 ? first : joins);
        for (uint64_t n = tutti_rng_below(3, 1, dice++, 4); n--;) {
            const uint64_t at = tutti_rng_below(3, 2, dice++, length);
            text[at] = letters[tutti_rng_below(3, 3, dice++, sizeof letters - 1)];
        }
        if (!tutti_rng_below(3, 4, dice++, 4)) text[tutti_rng_below(3, 5, dice++, length)] = '\0';
        if (tutti_elastic_start_read(text, &s)) continue;
        ck_assert_int_ge(s.least, 1);
        ck_assert_int_le(s.least, s.most);
        ck_assert_int_le(s.first.n, s.most);
        ck_assert(s.first.n ? s.self.id < s.first.n : *s.contact != 0);
        ck_assert(*s.self.address && *s.token);
    }
}
END_TEST

/* ---- snapshots ---- */

static void open_trainer(tutti_trainer *s)
{
    const tutti_training_session_options options = {.runner = "inline", .workers = 1};
    const tutti_model *model = tutti_model_find("mlp");
    const tutti_model_input input = {4, 4, 3, 2};
    const tutti_step_options recipe = {.batch = 4,
        .accumulate = 1,
        .rule = &tutti_update_sgd,
        .momentum = 0.9f,
        .average_decay = 0.9,
        .seed = 7};
    *s = (tutti_trainer){.precision = TUTTI_F32};
    ck_assert_ok(tutti_training_session_open(&options, &s->session));
    ck_assert_ok(tutti_training_session_build(&s->session, model, &input, &recipe));
    ck_assert_ok(tutti_training_session_apply(&s->session));
    ck_assert_ok(tutti_training_session_start(&s->session));
}

/* All that training changes becomes this number, in every tensor another one. */
static tutti_status fill(void *ctx, const tutti_tensor *tensor, void *data)
{
    unsigned char *number = ctx;
    memset(data, (*number)++, tensor->bytes);
    return TUTTI_OK;
}

static tutti_status compare(void *ctx, const tutti_tensor *tensor, void *data)
{
    unsigned char *number = ctx;
    const unsigned char *byte = data, is = (*number)++;
    for (size_t i = 0; i < tensor->bytes; i++) ck_assert_uint_eq(byte[i], is);
    return TUTTI_OK;
}

static void set_trainer(tutti_trainer *s, int value, int replicas)
{
    unsigned char number = (unsigned char)value;
    const int tensors = tutti_weights_count(&s->session);
    ck_assert_ok(tutti_weights_walk(&s->session, tensors, TUTTI_READWRITE, fill, &number));
    free(s->sums.value);
    s->sums = (tutti_epoch_sums){.replicas = replicas};
    if (replicas) s->sums.value = calloc((size_t)replicas * TUTTI_METRICS, sizeof(double));
    if (replicas) s->sums.value[replicas * TUTTI_METRICS - 1] = value;
    s->best = (tutti_train_best){0.5, value, 1};
    s->rate_schedule.plateau = (tutti_rate_plateau){.best = value, .since = 3, .drops = 2};
}

static void check_trainer(const tutti_trainer *s, int value, int replicas)
{
    unsigned char number = (unsigned char)value;
    const int tensors = tutti_weights_count(&s->session);
    ck_assert_int_gt(tensors, tutti_weights_parameters(&s->session));
    ck_assert_ok(tutti_weights_walk(&s->session, tensors, TUTTI_READ, compare, &number));
    ck_assert_int_eq(s->sums.replicas, replicas);
    if (replicas) ck_assert(s->sums.value[replicas * TUTTI_METRICS - 1] == value);
    ck_assert_int_eq(s->best.step, value);
    ck_assert(s->rate_schedule.plateau.best == value && s->rate_schedule.plateau.drops == 2);
}

START_TEST(two_generations)
{
    tutti_trainer s;
    tutti_snapshots kept;
    open_trainer(&s);
    tutti_snapshots_begin(&kept, 1);
    ck_assert_int_eq(kept.newest.step, 0);
    ck_assert_ptr_null(tutti_snapshots_find(&kept, 0));
    for (int step = 5; step <= 20; step += 5) {
        set_trainer(&s, step, step % 10 ? 3 : 0);
        ck_assert_ok(tutti_snapshots_take(&kept, &s, step));
    }
    set_trainer(&s, 99, 1);
    ck_assert_ptr_null(tutti_snapshots_find(&kept, 10));
    ck_assert_ok(tutti_snapshot_restore(tutti_snapshots_find(&kept, 15), &s));
    check_trainer(&s, 15, 3);
    ck_assert_int_eq(s.first_step, 15);
    ck_assert_ok(tutti_snapshot_restore(tutti_snapshots_find(&kept, 20), &s));
    check_trainer(&s, 20, 0);
    s.steps_per_epoch++; /* of an epoch with other steps there are no sums */
    ck_assert_ok(tutti_snapshot_restore(tutti_snapshots_find(&kept, 15), &s));
    check_trainer(&s, 15, 0);
    tutti_snapshots_cut(&kept, 15);
    ck_assert_int_eq(kept.newest.step, 15);
    ck_assert_int_eq(kept.before.step, -1);
    tutti_snapshots_cut(&kept, 14);
    ck_assert_int_eq(kept.newest.step, -1);
    tutti_snapshots_free(&kept);
    free(s.sums.value);
    ck_assert_ok(tutti_training_session_close(&s.session));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic");
    TCase *tcase = testing_case(suite, "elastic");
    tcase_add_test(tcase, a_rank_starts);
    tcase_add_test(tcase, wrong_words);
    tcase_add_test(tcase, damaged_words);
    tcase_add_test(tcase, two_generations);
    return testing_run(suite);
}
