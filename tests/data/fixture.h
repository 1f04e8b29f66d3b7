/* Small data sets that a test writes into a new folder, and what the library logs about them on
 * stderr. */
#ifndef TUTTI_TESTS_FIXTURE_H
#define TUTTI_TESTS_FIXTURE_H

#include "dag/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* A new empty folder under TMPDIR or /tmp. fixture_remove deletes it with its contents. */
char *fixture_folder(void);
void fixture_remove(char *folder);

/* "folder/name", in static storage that the next 4 calls do not overwrite. */
const char *fixture_path(const char *folder, const char *name);

/* These end the program if the file system fails: a test cannot go on without its data. */
void fixture_write(const char *folder, const char *name, const void *bytes, size_t count);
void fixture_write_gzip(const char *folder, const char *name, const void *bytes, size_t count);
uint8_t *fixture_load(const char *path, size_t *count); /* the caller frees */
void fixture_truncate(const char *folder, const char *name, int64_t bytes);
void fixture_mkdir(const char *folder, const char *name);

/* The pixel (0..255) of every fixture at image i, row y, column x, channel c; and the label of
 * image i. */
int fixture_pixel(int i, int y, int x, int c);
int fixture_label(int i, int classes);

/* data_batch_1..5.bin with `train` records in all (a multiple of 5), test_batch.bin with `test`. */
void fixture_cifar10(const char *folder, int train, int test);
void fixture_cifar100(const char *folder, int train, int test);
/* The four files of MNIST, height x width, plain or gzip. */
void fixture_idx(const char *folder, int train, int test, int height, int width, int gzip);

/* A JPEG in memory (the caller frees): components 1 (grey), 3 (YCbCr) or 4 (CMYK); smooth, so that
 * compression is mild. */
uint8_t *fixture_jpeg(int width, int height, int components, int shade, size_t *count);
void fixture_write_jpeg(
    const char *folder, const char *name, int width, int height, int components, int shade);
/* A WebP without losses, 12x16, whose pixel (x,y) is (10x,12y,5(x+y)), with alpha and the orientation 6; and one with
 * two pictures. */
extern const uint8_t fixture_webp[110], fixture_webp_animation[144];
/* A PNG of 8-bit RGB, all of one shade, with the chunk eXIf. */
void fixture_write_png(
    const char *folder, const char *name, int width, int height, int shade, int orientation);
/* {train,test}/{ant,bee,cow}/N.jpg of 16x12 pixels: the class's shade is 40, 120, 200. */
void fixture_jpeg_folder(const char *folder, int train_per_class, int test_per_class);

/* Redirects stderr to a file until fixture_uncapture, which returns the text (static storage). */
void fixture_capture(void);
const char *fixture_uncapture(void);

#endif
