#define _XOPEN_SOURCE 700 /* nftw */
#include "tests/data/fixture.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <jpeglib.h>

enum { CIFAR_SIDE = 32, CIFAR_PLANE = CIFAR_SIDE * CIFAR_SIDE };

static struct {
    int saved;
    FILE *file;
    char text[8192];
} captured;

static void need(int truth, const char *what)
{
    if (truth) return;
    perror(what);
    abort();
}

char *fixture_folder(void)
{
    const char *parent = getenv("TMPDIR");
    char *folder = malloc(4096);
    need(folder != NULL, "malloc");
    snprintf(folder, 4096, "%s/tutti-data-XXXXXX", parent ? parent : "/tmp");
    need(mkdtemp(folder) != NULL, folder);
    return folder;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void fixture_remove(char *folder)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(folder);
}

const char *fixture_path(const char *folder, const char *name)
{
    static char paths[4][4096];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

void fixture_write(const char *folder, const char *name, const void *bytes, size_t count)
{
    const char *path = fixture_path(folder, name);
    FILE *file = fopen(path, "wb");
    need(file != NULL, path);
    need(fwrite(bytes, 1, count, file) == count, path);
    need(fclose(file) == 0, path);
}

void fixture_write_gzip(const char *folder, const char *name, const void *bytes, size_t count)
{
    const char *path = fixture_path(folder, name);
    gzFile file = gzopen(path, "wb");
    need(file != NULL, path);
    need(gzwrite(file, bytes, (unsigned)count) == (int)count, path);
    need(gzclose(file) == Z_OK, path);
}

uint8_t *fixture_load(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    need(file != NULL, path);
    need(fseek(file, 0, SEEK_END) == 0, path);
    *count = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*count + 1);
    need(bytes != NULL && fread(bytes, 1, *count, file) == *count, path);
    fclose(file);
    return bytes;
}

void fixture_truncate(const char *folder, const char *name, int64_t bytes)
{
    need(truncate(fixture_path(folder, name), (off_t)bytes) == 0, name);
}

void fixture_mkdir(const char *folder, const char *name)
{
    need(mkdir(fixture_path(folder, name), 0755) == 0, name);
}

int fixture_pixel(int i, int y, int x, int c)
{
    return (i * 31 + y * 7 + x * 3 + c * 101) & 255;
}

int fixture_label(int i, int classes)
{
    return (i * 7 + 3) % classes;
}

static void write_cifar(const char *folder, const char *name, int first, int count, int fine)
{
    size_t record = (size_t)(3 * CIFAR_PLANE + 1 + fine);
    uint8_t *bytes = malloc(record * (size_t)count + 1), *b = bytes;
    need(bytes != NULL, name);
    for (int i = first; i < first + count; i++) {
        if (fine) *b++ = (uint8_t)fixture_label(i, 20);
        *b++ = (uint8_t)fixture_label(i, fine ? 100 : 10);
        for (int c = 0; c < 3; c++)
            for (int p = 0; p < CIFAR_PLANE; p++)
                *b++ = (uint8_t)fixture_pixel(i, p / CIFAR_SIDE, p % CIFAR_SIDE, c);
    }
    fixture_write(folder, name, bytes, (size_t)(b - bytes));
    free(bytes);
}

void fixture_cifar10(const char *folder, int train, int test)
{
    for (int f = 0; f < 5; f++) {
        char name[32];
        snprintf(name, sizeof name, "data_batch_%d.bin", f + 1);
        write_cifar(folder, name, f * (train / 5), train / 5, 0);
    }
    write_cifar(folder, "test_batch.bin", 0, test, 0);
}

void fixture_cifar100(const char *folder, int train, int test)
{
    write_cifar(folder, "train.bin", 0, train, 1);
    write_cifar(folder, "test.bin", 0, test, 1);
}

static uint8_t *put_u32(uint8_t *b, int value)
{
    for (int shift = 24; shift >= 0; shift -= 8) *b++ = (uint8_t)(value >> shift);
    return b;
}

static void write_idx(
    const char *folder, const char *prefix, int count, int height, int width, int gzip)
{
    void (*write_file)(const char *, const char *, const void *, size_t) =
        gzip ? fixture_write_gzip : fixture_write;
    char name[64];
    uint8_t *bytes = malloc(16 + (size_t)count * (size_t)(height * width)), *b = bytes;
    need(bytes != NULL, prefix);
    b = put_u32(put_u32(put_u32(put_u32(b, 0x803), count), height), width);
    for (int i = 0; i < count; i++)
        for (int p = 0; p < height * width; p++)
            *b++ = (uint8_t)fixture_pixel(i, p / width, p % width, 0);
    snprintf(name, sizeof name, "%s-images-idx3-ubyte%s", prefix, gzip ? ".gz" : "");
    write_file(folder, name, bytes, (size_t)(b - bytes));
    b = put_u32(put_u32(bytes, 0x801), count);
    for (int i = 0; i < count; i++) *b++ = (uint8_t)fixture_label(i, 10);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte%s", prefix, gzip ? ".gz" : "");
    write_file(folder, name, bytes, (size_t)(b - bytes));
    free(bytes);
}

void fixture_idx(const char *folder, int train, int test, int height, int width, int gzip)
{
    write_idx(folder, "train", train, height, width, gzip);
    write_idx(folder, "t10k", test, height, width, gzip);
}

uint8_t *fixture_jpeg(int width, int height, int components, int shade, size_t *count)
{
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long size = 0;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &bytes, &size);
    cinfo.image_width = (JDIMENSION)width;
    cinfo.image_height = (JDIMENSION)height;
    cinfo.input_components = components;
    cinfo.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&cinfo);
    jpeg_set_quality(&cinfo, 95, TRUE);
    jpeg_start_compress(&cinfo, TRUE);
    uint8_t *row = malloc((size_t)(width * components));
    need(row != NULL, "jpeg");
    for (int y = 0; y < height; y++) {
        for (int i = 0; i < width * components; i++)
            row[i] = (uint8_t)(shade + y + (components == 3 ? 8 * (i % 3) : 0));
        JSAMPROW rows[] = {row};
        jpeg_write_scanlines(&cinfo, rows, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    free(row);
    *count = (size_t)size;
    return bytes;
}

void fixture_write_jpeg(
    const char *folder, const char *name, int width, int height, int components, int shade)
{
    size_t count;
    uint8_t *bytes = fixture_jpeg(width, height, components, shade, &count);
    fixture_write(folder, name, bytes, count);
    free(bytes);
}

/* Appends a chunk: its length, type, contents and checksum. */
static uint8_t *put_chunk(uint8_t *b, const char *type, const uint8_t *contents, size_t count)
{
    uint8_t *begin = b = put_u32(b, (int)count);
    memcpy(b, type, 4);
    if (count) memcpy(b + 4, contents, count);
    b += 4 + count;
    return put_u32(b, (int)crc32(crc32(0, NULL, 0), begin, (uInt)count + 4));
}

const uint8_t fixture_webp[110] = {0x52, 0x49, 0x46, 0x46, 0x66, 0x00, 0x00, 0x00, 0x57, 0x45, 0x42,
    0x50, 0x56, 0x50, 0x38, 0x58, 0x0a, 0x00, 0x00, 0x00, 0x18, 0x00, 0x00, 0x00, 0x0b, 0x00, 0x00,
    0x0f, 0x00, 0x00, 0x56, 0x50, 0x38, 0x4c, 0x25, 0x00, 0x00, 0x00, 0x2f, 0x0b, 0xc0, 0x03, 0x10,
    0xcd, 0x65, 0x44, 0xff, 0x63, 0x11, 0x95, 0x18, 0xf0, 0xfe, 0x47, 0x41, 0x48, 0x40, 0x18, 0xe0,
    0xff, 0x64, 0x51, 0x1e, 0x85, 0x10, 0x08, 0xa4, 0xb0, 0x61, 0x9f, 0x00, 0xcc, 0xaa, 0x2c, 0x03,
    0x00, 0x45, 0x58, 0x49, 0x46, 0x1a, 0x00, 0x00, 0x00, 0x4d, 0x4d, 0x00, 0x2a, 0x00, 0x00, 0x00,
    0x08, 0x00, 0x01, 0x01, 0x12, 0x00, 0x03, 0x00, 0x00, 0x00, 0x01, 0x00, 0x06, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00};
const uint8_t fixture_webp_animation[144] = {0x52, 0x49, 0x46, 0x46, 0x88, 0x00, 0x00, 0x00, 0x57,
    0x45, 0x42, 0x50, 0x56, 0x50, 0x38, 0x58, 0x0a, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x03,
    0x00, 0x00, 0x02, 0x00, 0x00, 0x41, 0x4e, 0x49, 0x4d, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x41, 0x4e, 0x4d, 0x46, 0x2a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x03, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x56, 0x50, 0x38, 0x4c, 0x11,
    0x00, 0x00, 0x00, 0x2f, 0x03, 0x80, 0x00, 0x00, 0x07, 0xd0, 0x84, 0x26, 0x34, 0xa1, 0xff, 0x81,
    0x88, 0xe8, 0x7f, 0x00, 0x00, 0x41, 0x4e, 0x4d, 0x46, 0x2a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x56, 0x50, 0x38,
    0x4c, 0x11, 0x00, 0x00, 0x00, 0x2f, 0x03, 0x80, 0x00, 0x00, 0x07, 0xd0, 0x84, 0x22, 0x37, 0xa1,
    0xff, 0x81, 0x88, 0xe8, 0x7f, 0x00, 0x00};

void fixture_write_png(
    const char *folder, const char *name, int width, int height, int shade, int orientation)
{
    static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    const uint8_t exif[] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0,
        (uint8_t)orientation, 0, 0, 0, 0, 0, 0, 0};
    uint8_t header[13] = {0, 0, 0, 0, 0, 0, 0, 0, 8, 2}; /* 8 bits, RGB */
    size_t rows = (size_t)height * (1 + 3 * (size_t)width);
    uLongf packed = compressBound(rows);
    uint8_t *pixels = malloc(rows), *data = malloc(packed), *bytes = malloc(packed + 256),
            *b = bytes;
    need(pixels && data && bytes, name);
    memset(pixels, shade, rows);
    for (int y = 0; y < height; y++)
        pixels[(size_t)y * (1 + 3 * (size_t)width)] = 0; /* no filter */
    need(compress(data, &packed, pixels, rows) == Z_OK, name);
    put_u32(put_u32(header, width), height);
    memcpy(b, signature, sizeof signature);
    b = put_chunk(b + sizeof signature, "IHDR", header, sizeof header);
    b = put_chunk(b, "eXIf", exif, sizeof exif);
    b = put_chunk(b, "IDAT", data, packed);
    b = put_chunk(b, "IEND", NULL, 0);
    fixture_write(folder, name, bytes, (size_t)(b - bytes));
    free(pixels);
    free(data);
    free(bytes);
}

void fixture_jpeg_folder(const char *folder, int train_per_class, int test_per_class)
{
    static const char *const splits[] = {"train", "test"}, *const classes[] = {"ant", "bee", "cow"};
    for (int s = 0; s < 2; s++) {
        fixture_mkdir(folder, splits[s]);
        for (int k = 0; k < 3; k++) {
            char name[64];
            snprintf(name, sizeof name, "%s/%s", splits[s], classes[k]);
            fixture_mkdir(folder, name);
            for (int i = 0; i < (s ? test_per_class : train_per_class); i++) {
                snprintf(name, sizeof name, "%s/%s/%d.jpg", splits[s], classes[k], i);
                fixture_write_jpeg(folder, name, 16, 12, 3, 40 + 80 * k + i);
            }
        }
    }
}

void fixture_capture(void)
{
    captured.file = tmpfile();
    need(captured.file != NULL, "tmpfile");
    captured.saved = dup(STDERR_FILENO);
    need(captured.saved >= 0 && dup2(fileno(captured.file), STDERR_FILENO) >= 0, "dup2");
}

const char *fixture_uncapture(void)
{
    need(dup2(captured.saved, STDERR_FILENO) >= 0, "dup2");
    close(captured.saved);
    rewind(captured.file);
    size_t n = fread(captured.text, 1, sizeof captured.text - 1, captured.file);
    captured.text[n] = '\0';
    fclose(captured.file);
    return captured.text;
}
