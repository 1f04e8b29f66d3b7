/* Checkpoints: named tensors and a few words about them in one file of the safetensors format.
 *
 *   8 bytes   length of the header, little endian, at most 100,000,000
 *   header    JSON: {"__metadata__": {"key": "text", ...},
 *                    "name": {"dtype": "F32", "shape": [16,3,3,3], "data_offsets": [begin, end]},
 *                    ...} and spaces
 *   data      row-major, little endian; offsets count from here, without gaps or overlaps
 *
 * Beyond the format, the metadata value "data_xxh3" is the XXH3 hash of the data; if present it is
 * checked. Source: https://github.com/huggingface/safetensors, "Format". Threads: [A], one thread
 * per checkpoint. */
#ifndef TUTTI_TRAIN_CHECKPOINT_H
#define TUTTI_TRAIN_CHECKPOINT_H

#include "dag/base/dtype.h"
#include "dag/base/status.h"
#include "dag/graph/shape.h"

typedef struct tutti_checkpoint tutti_checkpoint;

typedef struct tutti_checkpoint_tensor {
    const char *name;
    tutti_dtype dtype;
    tutti_shape shape;
    void *data; /* shape's count of dtype; read by save, written by load */
} tutti_checkpoint_tensor;

typedef struct tutti_checkpoint_pair {
    const char *key, *value;
} tutti_checkpoint_pair;

/* Where to save, and what happens to an existing file: see tutti_file_options. */
typedef struct tutti_checkpoint_place {
    const char *path;
    int keep, anew;
} tutti_checkpoint_place;

/* Writes a temporary file, syncs it, reads it back and checks it, keeps the earlier ones, and moves
 * it into place. The path always holds a complete checkpoint: the new one after OK, otherwise the
 * previous one. IO (logged: file and reason); NOMEM. */
tutti_status tutti_checkpoint_save(const tutti_checkpoint_place *place, int pairs,
    const tutti_checkpoint_pair pair[], int tensors, const tutti_checkpoint_tensor tensor[]);

/* Opens a file, and checks it: header, shapes, offsets, size, hash. Types and dimensions matter only of
 * tensors that are read. Of an index (NAME.safetensors.index.json), or of a folder that has one, opens
 * all files that it names; of a folder with one safetensors file, that. IO, FORMAT, NOMEM; all
 * logged with the file's name, and with what to do about files of other kinds. */
tutti_status tutti_checkpoint_open(const char *path, tutti_checkpoint **checkpoint);
/* As open of such a file in memory, which was made of another one; it is taken, and freed in any case. */
tutti_status tutti_checkpoint_open_image(
    const char *path, void *image, size_t bytes, tutti_checkpoint **checkpoint);
/* As open, but if the file is missing or damaged, opens the first undamaged one of path.1, path.2
 * ... *earlier: its number; 0 for path itself. Errors of the skipped files are warnings. */
tutti_status tutti_checkpoint_open_newest(
    const char *path, tutti_checkpoint **checkpoint, int *earlier);
void tutti_checkpoint_close(tutti_checkpoint *checkpoint);

/* The file's name. Lives until close. */
const char *tutti_checkpoint_path(const tutti_checkpoint *checkpoint);
/* A metadata value, or NULL. Lives until close. */
const char *tutti_checkpoint_value(const tutti_checkpoint *checkpoint, const char *key);

/* The name of the i-th tensor, in no order that means anything; NULL behind the last. */
const char *tutti_checkpoint_name(const tutti_checkpoint *checkpoint, int i);
/* Whether there is a tensor of this name; if so, its shape. */
int tutti_checkpoint_find(const tutti_checkpoint *checkpoint, const char *name, tutti_shape *shape);
/* Fills the data of one tensor; float32 also from F64, F16, BF16, F8_E4M3 and F8_E5M2. FORMAT (logged:
 * the tensor and both shapes) if it is missing, is in two files or has another shape; UNSUPPORTED
 * if its type cannot be converted, or needs a scale; IO; NOMEM. */
tutti_status tutti_checkpoint_read(
    tutti_checkpoint *checkpoint, const tutti_checkpoint_tensor *tensor);
/* Fills the data of every tensor, as read does, or of none if one of them cannot be read. Warns if
 * the file has more. */
tutti_status tutti_checkpoint_load(
    tutti_checkpoint *checkpoint, int tensors, const tutti_checkpoint_tensor tensor[]);

#endif
