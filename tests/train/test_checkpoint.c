/* apps/train/checkpoint: saved data come back bit for bit; every kind of damage is refused with a message
 * that names it; no mutation of the file does harm; a full disk leaves the earlier file intact. */
#include "apps/train/checkpoint.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TENSORS = 4, CONV = 3 * 3 * 3 * 5 };

static char folder[] = "/tmp/tutti-checkpoint-XXXXXX", path[64], earlier[64], earliest[64];
static int keep;
static float conv[CONV], bias[5], empty[1];
static int64_t counter[1];
static const tutti_checkpoint_pair pairs[] = {{"model", "mlp"}, {"step", "12"}};

static void describe(tutti_checkpoint_tensor tensor[TENSORS], float *w, float *b, int64_t *c)
{
    tensor[0] = (tutti_checkpoint_tensor){"conv.weight", TUTTI_F32, tutti_shape_of(5, 3, 3, 3), w};
    tensor[1] = (tutti_checkpoint_tensor){"conv.bias", TUTTI_F32, tutti_shape_of(5), b};
    tensor[2] = (tutti_checkpoint_tensor){"counter", TUTTI_I64, {.rank = 0}, c};
    tensor[3] = (tutti_checkpoint_tensor){"empty \"one\"", TUTTI_F32, tutti_shape_of(0, 4), empty};
}

static tutti_status save(const char *to)
{
    tutti_checkpoint_tensor tensor[TENSORS];
    describe(tensor, conv, bias, counter);
    return tutti_checkpoint_save(
        &(tutti_checkpoint_place){.path = to, .keep = keep}, 2, pairs, TENSORS, tensor);
}

/* Opens and loads; checks the values if both succeed (and no mutation has removed the hash). */
static tutti_status load(const char *from)
{
    float w[CONV] = {0}, b[5] = {0};
    int64_t c[1] = {0};
    tutti_checkpoint_tensor tensor[TENSORS];
    tutti_checkpoint *checkpoint;
    describe(tensor, w, b, c);
    tutti_status status = tutti_checkpoint_open(from, &checkpoint);
    if (status) return status;
    int hashed = tutti_checkpoint_value(checkpoint, "data_xxh3") != NULL;
    status = tutti_checkpoint_load(checkpoint, TENSORS, tensor);
    tutti_checkpoint_close(checkpoint);
    if (status || !hashed) return status;
    ck_assert_mem_eq(w, conv, sizeof conv);
    ck_assert_mem_eq(b, bias, sizeof bias);
    ck_assert_mem_eq(c, counter, sizeof counter);
    return TUTTI_OK;
}

/* What load(from) writes to stderr. */
static const char *complaint(const char *from, tutti_status wanted)
{
    static char text[2048];
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    tutti_status status = load(from);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    ck_assert_msg(status == wanted, "%s instead of %s: %s", tutti_status_name(status),
        tutti_status_name(wanted), text);
    return text;
}

static size_t read_file(const char *from, char **data)
{
    struct stat info;
    ck_assert_int_eq(stat(from, &info), 0);
    *data = malloc((size_t)info.st_size + 64);
    FILE *file = fopen(from, "rb");
    size_t bytes = fread(*data, 1, (size_t)info.st_size, file);
    fclose(file);
    return bytes;
}

static void write_file(const char *to, const char *data, size_t bytes)
{
    FILE *file = fopen(to, "wb");
    ck_assert_uint_eq(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
}

static int files_in_folder(void)
{
    int count = 0;
    DIR *all = opendir(folder);
    while (readdir(all)) count++;
    closedir(all);
    return count - 2;
}

/* Writes a file with this header and `data_bytes` zeros as data. */
static void write_header(const char *header, size_t data_bytes)
{
    char text[4096] = {0};
    size_t length = strlen(header);
    text[0] = (char)(length & 255);
    text[1] = (char)(length >> 8);
    memcpy(text + 8, header, length);
    write_file(path, text, 8 + length + data_bytes);
}

START_TEST(round_trip)
{
    ck_assert_ok(save(path));
    ck_assert_ok(load(path));
    ck_assert_int_eq(files_in_folder(), 1);
    tutti_checkpoint *checkpoint;
    ck_assert_ok(tutti_checkpoint_open(path, &checkpoint));
    ck_assert_str_eq(tutti_checkpoint_value(checkpoint, "model"), "mlp");
    ck_assert_str_eq(tutti_checkpoint_value(checkpoint, "step"), "12");
    ck_assert_ptr_null(tutti_checkpoint_value(checkpoint, "nothing"));
    tutti_checkpoint_close(checkpoint);

    char *first, *second; /* the same tensors give the same file */
    size_t n = read_file(path, &first);
    ck_assert_ok(save(path));
    ck_assert_uint_eq(read_file(path, &second), n);
    ck_assert_mem_eq(first, second, n);
    ck_assert_uint_eq(((unsigned char)first[0] | (unsigned char)first[1] << 8) % 8, 0);
    free(first);
    free(second);
}
END_TEST

START_TEST(other_tensors_are_refused)
{
    ck_assert_ok(save(path));
    tutti_checkpoint *checkpoint;
    ck_assert_ok(tutti_checkpoint_open(path, &checkpoint));
    float w[CONV];
    tutti_checkpoint_tensor tensor = {"conv.weight", TUTTI_F32, tutti_shape_of(5, 3, 3, 3), w};
    /* The file has more tensors, of which nothing is wanted. */
    ck_assert_ok(tutti_checkpoint_load(checkpoint, 1, &tensor));
    ck_assert_mem_eq(w, conv, sizeof conv);
    tensor.shape = tutti_shape_of(3, 5, 3, 3);
    ck_assert_int_eq(tutti_checkpoint_load(checkpoint, 1, &tensor), TUTTI_ERR_FORMAT);
    tensor.name = "conv9.weight";
    ck_assert_int_eq(tutti_checkpoint_load(checkpoint, 1, &tensor), TUTTI_ERR_FORMAT);
    tutti_checkpoint_close(checkpoint);
}
END_TEST

#define T(name, dtype, shape, offsets)                                                             \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

START_TEST(broken_headers_are_named)
{
    static const struct {
        const char *header;
        size_t data;
        tutti_status status;
        const char *says;
    } rows[] = {
        {"", 0, TUTTI_ERR_FORMAT, "does not begin with {"},
        {"[]", 0, TUTTI_ERR_FORMAT, "does not begin with {"},
        {"{", 0, TUTTI_ERR_FORMAT, "bad header"},
        {"{} x", 0, TUTTI_ERR_FORMAT, "bad header"},
        {"{\"__metadata__\":3}", 0, TUTTI_ERR_FORMAT, "__metadata__ is not an object"},
        {"{\"__metadata__\":{\"a\":3}}", 0, TUTTI_ERR_FORMAT, "not text"},
        {"{\"a\":3}", 0, TUTTI_ERR_FORMAT, "\"a\": not described"},
        {"{\"a\":{}}", 0, TUTTI_ERR_FORMAT, "\"a\": not described"},
        {"{" T("a", "F32", "[2]", "[0]") "}", 8, TUTTI_ERR_FORMAT, "\"a\": not described"},
        {"{" T("a", "F32", "[2]", "[0,8.0]") "}", 8, TUTTI_ERR_FORMAT, "\"a\": not described"},
        {"{" T("a", "F16", "[2]", "[0,8]") "}", 8, TUTTI_ERR_FORMAT, "do not fit its shape"},
        {"{" T("a", "BOOL", "[2]", "[0,1]") "}", 1, TUTTI_ERR_FORMAT, "do not fit its shape"},
        {"{" T("a", "F32", "[1,1,1,1,2]", "[0,4]") "}", 4, TUTTI_ERR_FORMAT,
            "do not fit its shape"},
        /* What nobody wants does not matter, whatever it is. */
        {"{" T("a", "F4", "[2]", "[0,1]") "," T("b", "F32", "[1,1,1,1,2]", "[1,9]") "," T(
             "c", "I64", "[]", "[9,17]") "}",
            17, TUTTI_ERR_FORMAT, "\"conv.weight\": missing"},
        {"{" T("conv.weight", "F32", "[5,3,3,3,1]", "[0,540]") "}", 540, TUTTI_ERR_FORMAT,
            "has 5 dimensions, but F32 (5,3,3,3) is needed"},
        {"{" T("conv.weight", "I32", "[5,3,3,3]", "[0,540]") "}", 540, TUTTI_ERR_UNSUPPORTED,
            "has the type \"I32\", but F32 is needed, or one of F64, F16"},
        {"{" T("conv.weight", "F4", "[5,3,3,3]", "[0,68]") "}", 68, TUTTI_ERR_UNSUPPORTED,
            "has the type \"F4\""},
        {"{" T("conv.weight", "F8_E4M3", "[5,3,3,3]", "[0,135]") "," T(
             "conv.weight_scale_inv", "F32", "[]", "[135,139]") "}",
            139, TUTTI_ERR_UNSUPPORTED, "is quantised"},
        {"{" T("a", "F32", "[-2]", "[0,8]") "}", 8, TUTTI_ERR_FORMAT, "a size in its shape"},
        {"{" T("a", "F32", "[\"2\"]", "[0,8]") "}", 8, TUTTI_ERR_FORMAT, "a size in its shape"},
        {"{" T("a", "F32", "[2]", "[8,0]") "}", 8, TUTTI_ERR_FORMAT, "out of order"},
        {"{" T("a", "F32", "[2]", "[-8,0]") "}", 8, TUTTI_ERR_FORMAT, "out of order"},
        {"{" T("a", "F32", "[3]", "[0,8]") "}", 8, TUTTI_ERR_FORMAT, "do not fit its shape"},
        {"{" T("a", "F32", "[4611686018427387904]", "[0,0]") "}", 0, TUTTI_ERR_FORMAT,
            "do not fit its shape"},
        {"{" T("a", "F32", "[4294967296,4294967296]", "[0,0]") "}", 0, TUTTI_ERR_FORMAT,
            "do not fit its shape"},
        {"{" T("a", "F32", "[99999999999999999999]", "[0,0]") "}", 0, TUTTI_ERR_FORMAT,
            "bad header"},
        {"{" T("a", "F32", "[2]", "[0,8]") "," T("b", "F32", "[2]", "[4,12]") "}", 12,
            TUTTI_ERR_FORMAT, "\"b\": its data overlap"},
        {"{" T("a", "F32", "[2]", "[0,8]") "," T("b", "F32", "[2]", "[0,8]") "}", 8,
            TUTTI_ERR_FORMAT, "overlap"},
        {"{" T("a", "F32", "[2]", "[0,8]") "," T("b", "F32", "[2]", "[12,20]") "}", 20,
            TUTTI_ERR_FORMAT, "\"b\": there is a gap"},
        {"{" T("a", "F32", "[2]", "[4,12]") "}", 12, TUTTI_ERR_FORMAT, "\"a\": there is a gap"},
        {"{" T("a", "F32", "[2]", "[0,8]") "}", 7, TUTTI_ERR_FORMAT, "truncated"},
        {"{" T("a", "F32", "[2]", "[0,8]") "}", 9, TUTTI_ERR_FORMAT, "after the last tensor"},
        {"{" T("a", "F32", "[2]", "[0,8]") "," T("a", "F32", "[2]", "[8,16]") "}", 16,
            TUTTI_ERR_FORMAT, "duplicate"},
        {"{\"__metadata__\":{\"data_xxh3\":\"0\"}," T("a", "F32", "[2]", "[0,8]") "}", 8,
            TUTTI_ERR_FORMAT, "damaged"},
        {"{" T("a", "F32", "[2]", "[0,8]") "}", 8, TUTTI_ERR_FORMAT, "\"conv.weight\": missing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_header(rows[i].header, rows[i].data);
        const char *text = complaint(path, rows[i].status);
        ck_assert_msg(strstr(text, rows[i].says) && strstr(text, path), "%s: \"%s\" lacks \"%s\"",
            rows[i].header, text, rows[i].says);
    }
    ck_assert_ptr_nonnull(
        strstr(complaint("/nonexistent/file", TUTTI_ERR_IO), "/nonexistent/file: cannot open"));
    ck_assert_ptr_nonnull(
        strstr(complaint(folder, TUTTI_ERR_IO), "a folder with 0 files *.safetensors"));
}
END_TEST

/* Values whose bits are known. */
START_TEST(every_floating_type_is_converted)
{
    static const struct {
        const char *type, *shape, *offsets;
        uint64_t bits[5];
        size_t bytes;
        float wanted[5];
    } rows[] = {
        {"F64", "[5]", "[0,40]",
            {0x3ff0000000000000, 0xbfb999999999999a, 0x7ff0000000000000, 0x36a0000000000000, 0}, 8,
            {1, -0.1f, INFINITY, 0x1p-149f, 0}},
        {"F16", "[5]", "[0,10]", {0x3c00, 0xfbff, 0x7c00, 0x0001, 0x8000}, 2,
            {1, -65504, INFINITY, 0x1p-24f, -0.0f}},
        {"BF16", "[5]", "[0,10]", {0x3f80, 0xc2f7, 0x7f80, 0x0001, 0x8000}, 2,
            {1, -123.5f, INFINITY, 0x1p-133f, -0.0f}},
        {"F8_E5M2", "[5]", "[0,5]", {0x3c, 0xfb, 0x7c, 0x01, 0x80}, 1,
            {1, -57344, INFINITY, 0x1p-16f, -0.0f}},
        {"F8_E4M3", "[5]", "[0,5]", {0x38, 0xfe, 0x7e, 0x01, 0x80}, 1,
            {1, -448, 448, 0x1p-9f, -0.0f}},
    };
    static const struct {
        const char *type, *offsets;
        uint64_t bits;
        size_t bytes;
    } nans[] = {{"F16", "[0,2]", 0x7c01, 2}, {"F8_E5M2", "[0,1]", 0x7d, 1},
        {"F8_E4M3", "[0,1]", 0xff, 1}, {"BF16", "[0,2]", 0x7fc0, 2}};
    char header[256], *data;
    for (size_t i = 0; i < sizeof rows / sizeof *rows + sizeof nans / sizeof *nans; i++) {
        const size_t n = i - sizeof rows / sizeof *rows;
        const int is_nan = i >= sizeof rows / sizeof *rows;
        const size_t bytes = is_nan ? nans[n].bytes : rows[i].bytes, count = is_nan ? 1 : 5;
        snprintf(header, sizeof header,
            "{\"a\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":%s}}",
            is_nan ? nans[n].type : rows[i].type, is_nan ? "[1]" : rows[i].shape,
            is_nan ? nans[n].offsets : rows[i].offsets);
        write_header(header, count * bytes);
        const size_t size = read_file(path, &data);
        for (size_t k = 0; k < count; k++)
            memcpy(data + size - (count - k) * bytes, is_nan ? &nans[n].bits : &rows[i].bits[k],
                bytes);
        write_file(path, data, size);
        free(data);
        float value[5];
        tutti_checkpoint *checkpoint;
        const tutti_checkpoint_tensor wanted = {
            "a", TUTTI_F32, tutti_shape_of((int64_t)count), value};
        ck_assert_ok(tutti_checkpoint_open(path, &checkpoint));
        ck_assert_ok(tutti_checkpoint_read(checkpoint, &wanted));
        tutti_checkpoint_close(checkpoint);
        if (is_nan)
            ck_assert_msg(isnan(value[0]), "%s: %g is not NaN", nans[n].type, (double)value[0]);
        else
            ck_assert_msg(!memcmp(value, rows[i].wanted, sizeof value), "%s: %g %g %g %g %g",
                rows[i].type, (double)value[0], (double)value[1], (double)value[2],
                (double)value[3], (double)value[4]);
    }
}
END_TEST

/* Writes a shard with zeros, FOLDER/name. */
static void write_shard(const char *name, const char *header, size_t data_bytes)
{
    char to[512];
    write_header(header, data_bytes);
    snprintf(to, sizeof to, "%s/%s", folder, name);
    ck_assert_int_eq(rename(path, to), 0);
}

START_TEST(an_index_stands_for_its_files)
{
    static const struct {
        const char *index, *says;
    } rows[] = {
        {"{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\"}}", NULL},
        {" \n{\"metadata\":{\"total_size\":8},\"weight_map\":{\"b\":\"2.safetensors\",\"a\":\"1."
         "safetensors\"}}",
            NULL},
        {"{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"1.safetensors\"}}",
            "\"b\": missing in the file that the index names, 1.safetensors"},
        {"{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"twice.safetensors\"}}",
            "\"a\" is in two of its files"},
        {"{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"none.safetensors\"}}",
            "none.safetensors cannot be opened"},
        {"{\"weight_map\":{\"a\":\"../1.safetensors\"}}", "is not a file of its folder"},
        {"{\"weight_map\":{\"a\":7}}", "is not a file of its folder"},
        {"{\"weight_map\":{}}", "no weight_map"},
        {"{\"model_type\":\"resnet\"}", "no weight_map"},
        {"{\"weight_map\":", "not JSON"},
    };
    char index[512];
    write_shard("1.safetensors", "{" T("a", "F32", "[1]", "[0,4]") "}", 4);
    write_shard(
        "2.safetensors", "{\"__metadata__\":{\"k\":\"v\"}," T("b", "F32", "[1]", "[0,4]") "}", 4);
    write_shard("twice.safetensors",
        "{" T("a", "F32", "[1]", "[0,4]") "," T("b", "F32", "[1]", "[4,8]") "}", 8);
    snprintf(index, sizeof index, "%s/model.safetensors.index.json", folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int whole = 0; whole < 2; whole++) {
            float a, b;
            const tutti_checkpoint_tensor wanted[] = {
                {"a", TUTTI_F32, tutti_shape_of(1), &a}, {"b", TUTTI_F32, tutti_shape_of(1), &b}};
            tutti_checkpoint *checkpoint;
            write_file(index, rows[i].index, strlen(rows[i].index));
            tutti_status status = tutti_checkpoint_open(whole ? folder : index, &checkpoint);
            if (!status) {
                status = tutti_checkpoint_load(checkpoint, 2, wanted);
                if (!rows[i].says) ck_assert_str_eq(tutti_checkpoint_value(checkpoint, "k"), "v");
                tutti_checkpoint_close(checkpoint);
            }
            ck_assert_msg(
                !status == !rows[i].says && (!status || strstr(tutti_last_error(), rows[i].says)),
                "%s: %s", rows[i].index, tutti_last_error());
        }
    ck_assert_int_eq(remove(index), 0);
    ck_assert_int_eq(tutti_checkpoint_open(folder, &(tutti_checkpoint *){NULL}), TUTTI_ERR_IO);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "3 files *.safetensors: name one of them"));
    static const char *const shards[] = {"1.safetensors", "2.safetensors", "twice.safetensors"};
    for (int i = 0; i < 3; i++) {
        snprintf(index, sizeof index, "%s/%s", folder, shards[i]);
        ck_assert_int_eq(remove(index), 0);
    }
}
END_TEST

START_TEST(files_of_other_kinds_are_named)
{
    static const struct {
        const char *first;
        size_t bytes;
        const char *says;
    } rows[] = {
        {"PK\3\4\0\0\0\0\0\0"
         "0123456789012345678901234567890123456789",
            50, "torch.load"},
        {"\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.", 15, "safetensors.torch"},
        {"\x80\4\x95\0\1\0\0\0\0\0\0}", 12, "torch.load"},
        {"PK\3\4\0\0\0\0\0\0"
         "01234567890123456789conv.npy5678901234567890",
            50, "NumPy archive"},
        {"\x89HDF\r\n\x1a\n0123", 12, "HDF5"},
        {"version https://git-lfs.github.com/spec/v1\n", 43, "git lfs pull"},
        {"<!DOCTYPE html>", 15, "web page"},
        {"\x08\7\x12\5Tutti0123", 13, "ONNX"},
        {"\x1f\x8b\x08\0\0\0\0\0\0\3", 10, "gunzip"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_file(path, rows[i].first, rows[i].bytes);
        const char *text = complaint(path, TUTTI_ERR_FORMAT);
        ck_assert_msg(strstr(text, rows[i].says) && strstr(text, "not a safetensors file"),
            "%zu: \"%s\" lacks \"%s\"", i, text, rows[i].says);
    }
}
END_TEST

START_TEST(every_truncation_is_refused)
{
    char *data;
    ck_assert_ok(save(path));
    size_t bytes = read_file(path, &data);
    for (size_t n = 0; n < bytes; n++) {
        write_file(path, data, n);
        ck_assert_ptr_nonnull(strstr(complaint(path, TUTTI_ERR_FORMAT), "truncated"));
    }
    memset(data, 0xff, 8);
    write_file(path, data, bytes);
    ck_assert_ptr_nonnull(strstr(complaint(path, TUTTI_ERR_FORMAT), "100,000,000"));
    free(data);
}
END_TEST

/* A few bytes changed, removed or repeated: refused, or harmless (spaces, metadata); load checks the
 * values. */
START_TEST(mutations_do_no_harm)
{
    enum { ROUNDS = 4000 };
    uint64_t seed = testing_seed(20240607);
    char *data;
    int refused = 0;
    ck_assert_ok(save(path));
    size_t bytes = read_file(path, &data);
    char *copy = malloc(bytes + 64);
    int quiet = open("/dev/null", O_WRONLY), saved = dup(STDERR_FILENO);
    dup2(quiet, STDERR_FILENO);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        size_t n = bytes;
        memcpy(copy, data, bytes);
        uint64_t changes = 1 + tutti_rng_below(seed, round, 0, 3);
        for (uint64_t k = 1; k <= changes; k++) {
            size_t at = tutti_rng_below(seed, round, 8 * k, n),
                   length = 1 + tutti_rng_below(seed, round, 8 * k + 1, 8);
            if (at + length > n) length = n - at;
            switch (tutti_rng_below(seed, round, 8 * k + 2, 4)) {
            case 0:
                copy[at] ^= (char)(1 << tutti_rng_below(seed, round, 8 * k + 3, 8));
                break;
            case 1:
                copy[at] = "0123456789{}[]\",: "[tutti_rng_below(seed, round, 8 * k + 4, 18)];
                break;
            case 2:
                memmove(copy + at, copy + at + length, n - at - length), n -= length;
                break;
            default:
                memmove(copy + at + length, copy + at, n - at), n += length;
                break;
            }
        }
        write_file(path, copy, n);
        refused += load(path) != TUTTI_OK;
    }
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(quiet);
    free(copy);
    free(data);
    ck_assert_int_gt(refused, ROUNDS * 8 / 10);
}
END_TEST

START_TEST(a_full_disk_leaves_the_old_file)
{
    char *before, *after;
    ck_assert_ok(save(path));
    size_t bytes = read_file(path, &before);
    struct rlimit saved, limit = {bytes / 2, RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &saved);
    limit.rlim_max = saved.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    conv[0] += 1;
    tutti_status status = save(path);
    setrlimit(RLIMIT_FSIZE, &saved);
    conv[0] -= 1;
    ck_assert_int_eq(status, TUTTI_ERR_IO);
    ck_assert_int_eq(files_in_folder(), 1);
    ck_assert_uint_eq(read_file(path, &after), bytes);
    ck_assert_mem_eq(before, after, bytes);
    free(before);
    free(after);
}
END_TEST

START_TEST(places_that_cannot_be_written)
{
    ck_assert_int_eq(save("/nonexistent/file"), TUTTI_ERR_IO);
    ck_assert_int_eq(save(folder), TUTTI_ERR_IO);
}
END_TEST

/* Flips a bit in a file's last byte. */
static void damage(const char *name)
{
    char *data;
    size_t bytes = read_file(name, &data);
    data[bytes - 1] ^= 1;
    write_file(name, data, bytes);
    free(data);
}

/* Which file is chosen, or minus the status. */
static int newest(void)
{
    tutti_checkpoint *checkpoint;
    int which = -1;
    tutti_status status = tutti_checkpoint_open_newest(path, &checkpoint, &which);
    if (status) return -(int)status;
    tutti_checkpoint_close(checkpoint);
    return which;
}

START_TEST(an_earlier_one_helps_out)
{
    keep = 2;
    for (int i = 0; i < 3; i++) ck_assert_ok(save(path));
    keep = 0;
    ck_assert_int_eq(newest(), 0);
    damage(path);
    ck_assert_int_eq(newest(), 1);
    ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(newest(), 1);
    write_file(earlier, "", 0);
    ck_assert_int_eq(newest(), 2);
    damage(earliest);
    ck_assert_int_eq(newest(), -(int)TUTTI_ERR_FORMAT);
    ck_assert_int_eq(remove(earlier), 0); /* the search stops at a gap */
    ck_assert_int_eq(newest(), -(int)TUTTI_ERR_IO);
    ck_assert_int_eq(remove(earliest), 0);
}
END_TEST

int main(void)
{
    if (!mkdtemp(folder)) return EXIT_FAILURE;
    snprintf(path, sizeof path, "%s/c", folder);
    snprintf(earlier, sizeof earlier, "%s/c.1", folder);
    snprintf(earliest, sizeof earliest, "%s/c.2", folder);
    for (int i = 0; i < CONV; i++) conv[i] = (float)tutti_rng_normal(1, 1, (uint64_t)i);
    for (int i = 0; i < 5; i++) bias[i] = (float)i;
    counter[0] = -1;
    Suite *suite = suite_create("checkpoint");
    TCase *tcase = testing_case(suite, "checkpoint");
    tcase_add_test(tcase, round_trip);
    tcase_add_test(tcase, other_tensors_are_refused);
    tcase_add_test(tcase, broken_headers_are_named);
    tcase_add_test(tcase, every_floating_type_is_converted);
    tcase_add_test(tcase, an_index_stands_for_its_files);
    tcase_add_test(tcase, files_of_other_kinds_are_named);
    tcase_add_test(tcase, every_truncation_is_refused);
    tcase_add_test(tcase, mutations_do_no_harm);
    tcase_add_test(tcase, a_full_disk_leaves_the_old_file);
    tcase_add_test(tcase, places_that_cannot_be_written);
    tcase_add_test(tcase, an_earlier_one_helps_out);
    int failed = testing_run(suite);
    remove(path);
    rmdir(folder);
    return failed;
}
