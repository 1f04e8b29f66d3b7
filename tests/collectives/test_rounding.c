/* How far allreduces end from the sum in float64, by type, algorithm and number of ranks: the
 * table of doc/numerics.md, which this test prints and compares. All ranks are on one thread, and
 * inputs are drawn as whole numbers, so that the table is the same everywhere. */
#include "collectives/coll.h"
#include "dag/base/bf16.h"
#include "dag/base/rng.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 64, COUNT = 1 << 13, ALGORITHMS = 3, SIZES = 7 };

static const char *const algorithms[ALGORITHMS] = {"ring", "recursive-doubling", "direct"};
static const int sizes[SIZES] = {2, 3, 4, 8, 16, 32, 64};

/* About normal: the sum of eight numbers of 16 bits. The division fills the mantissa. */
static float input(int rank, int64_t i)
{
    uint32_t word[4];
    int sum = 0;
    tutti_rng_philox(1, (uint64_t)rank, (uint64_t)i, word);
    for (int w = 0; w < 4; w++) sum += (int)(word[w] >> 16) + (int)(word[w] & 0xffff);
    return (float)((sum - 4 * 0xffff) / 98765.0);
}

static void store(tutti_dtype dtype, void *data, int64_t i, float value)
{
    if (dtype == TUTTI_BF16)
        ((uint16_t *)data)[i] = tutti_bf16_narrow(value);
    else
        ((float *)data)[i] = value;
}

static double load(tutti_dtype dtype, const void *data, int64_t i)
{
    return dtype == TUTTI_BF16 ? (double)tutti_bf16_widen(((const uint16_t *)data)[i])
                               : (double)((const float *)data)[i];
}

/* Sums data[r][0 ... COUNT) over P ranks on so many hosts. */
static void allreduce(
    int P, int hosts, const char *algorithm, tutti_dtype dtype, float data[][COUNT])
{
    tutti_loop_world *world;
    tutti_comm *comm[MOST_RANKS];
    tutti_coll_request *request[MOST_RANKS];
    const tutti_loop_options loop = {.eager_bytes = 4096, .hosts = hosts};
    ck_assert_ok(tutti_loop_world_new(P, &loop, &world));
    for (int r = 0; r < P; r++) {
        tutti_transport *transport;
        const tutti_comm_options options = {.algorithm = algorithm};
        ck_assert_ok(tutti_transport_loop(world, r, 1, &transport));
        ck_assert_ok(tutti_comm_new(transport, &options, &comm[r]));
        const tutti_coll_args sum = {.dtype = dtype, .count = COUNT, .recv = data[r]};
        ck_assert_ok(tutti_coll_post(comm[r], 0, &sum, &request[r]));
    }
    for (int done = 0; done < P;) {
        done = 0;
        for (int r = 0; r < P; r++) {
            ck_assert_ok(tutti_coll_progress(comm[r], NULL));
            done += tutti_coll_done(request[r]);
        }
    }
    for (int r = 0; r < P; r++) {
        tutti_coll_free(request[r]);
        tutti_comm_free(comm[r]);
    }
    tutti_loop_world_free(world);
}

/* The root mean square error of the sum of P float32 numbers that are exchanged in this type,
 * relative to that of the sum. */
static double error_of(int P, int hosts, const char *algorithm, tutti_dtype dtype)
{
    static float data[MOST_RANKS][COUNT];
    double wrong = 0, right = 0;
    for (int r = 0; r < P; r++)
        for (int64_t i = 0; i < COUNT; i++) store(dtype, data[r], i, input(r, i));
    allreduce(P, hosts, algorithm, dtype, data);
    for (int64_t i = 0; i < COUNT; i++) {
        double sum = 0, is = load(dtype, data[P - 1], i);
        for (int r = 0; r < P; r++) sum += (double)input(r, i);
        wrong += (is - sum) * (is - sum);
        right += sum * sum;
    }
    return sqrt(wrong / right);
}

static void work_out(double error[SIZES][2][ALGORITHMS])
{
    for (int s = 0; s < SIZES; s++)
        for (int a = 0; a < ALGORITHMS; a++) {
            error[s][0][a] = error_of(sizes[s], 1, algorithms[a], TUTTI_BF16);
            error[s][1][a] = error_of(sizes[s], 1, algorithms[a], TUTTI_F32);
        }
}

static char *write_table(double error[SIZES][2][ALGORITHMS])
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    fprintf(out, "| ranks |");
    for (int a = 0; a < 2 * ALGORITHMS; a++)
        fprintf(out, " %s, %s |", a < ALGORITHMS ? "bf16" : "f32", algorithms[a % ALGORITHMS]);
    fprintf(out, "\n|---|---|---|---|---|---|---|\n");
    for (int s = 0; s < SIZES; s++) {
        fprintf(out, "| %d |", sizes[s]);
        for (int a = 0; a < 2 * ALGORITHMS; a++)
            fprintf(out, " %.2g |", error[s][a / ALGORITHMS][a % ALGORITHMS]);
        fputc('\n', out);
    }
    fclose(out);
    return text;
}

static char *read_page(const char *path)
{
    static char text[1 << 16];
    FILE *in = fopen(testing_source(path), "r");
    ck_assert_msg(in != NULL, "%s cannot be read", path);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    return text;
}

START_TEST(errors_are_as_documented)
{
    double error[SIZES][2][ALGORITHMS];
    work_out(error);
    char *table = write_table(error);
    printf("%s", table);
    ck_assert_msg(
        strstr(read_page("doc/numerics.md"), table) != NULL, "doc/numerics.md has another table");
    free(table);
    for (int s = 0; s < SIZES; s++) {
        /* direct rounds twice on any number of ranks: the inputs, and the sum */
        ck_assert_double_lt(error[s][0][2], 1.05 * error[0][0][2]);
        ck_assert_double_le(error[s][0][2], error[s][0][1] * 1.02);
        ck_assert_double_le(error[s][0][2], error[s][0][0] * 1.02);
    }
    ck_assert_double_gt(error[SIZES - 1][0][0], 3 * error[SIZES - 1][0][2]);
}
END_TEST

/* One rounding in each machine and one across them, on any number of ranks; a ring has one for each rank. */
START_TEST(hierarchies_round_once_a_level)
{
    const double once = error_of(64, 1, "direct", TUTTI_BF16);
    for (int hosts = 1; hosts <= 24; hosts += 23) { /* 24 do not have as many ranks each */
        const double error = error_of(64, hosts, "hierarchical", TUTTI_BF16);
        ck_assert_double_le(error, (hosts > 1 ? sqrt(1.5) : 1) * 1.05 * once);
    }
    ck_assert_double_gt(error_of(64, 1, "ring", TUTTI_BF16), 3 * once);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rounding");
    TCase *tcase = testing_case(suite, "rounding");
    tcase_add_test(tcase, errors_are_as_documented);
    tcase_add_test(tcase, hierarchies_round_once_a_level);
    return testing_run(suite);
}
