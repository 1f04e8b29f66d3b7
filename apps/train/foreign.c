#include "apps/train/foreign.h"

#include <string.h>

/* doc/checkpoint.md has the same in three lines. */
const char tutti_foreign_torch[] =
    "a zip or a pickle, as torch.save writes, which only PyTorch reads. Convert it in Python: "
    "import "
    "torch, safetensors.torch as s; w = torch.load(\"FILE\", \"cpu\", weights_only=True); "
    "s.save_file({k: t.clone().contiguous() for k, t in w.get(\"state_dict\", w).items() if "
    "torch.is_tensor(t)}, \"FILE.safetensors\")";

static const struct {
    const char *is;
    size_t length;
    const char *begins;
} kinds[] = {
    {tutti_foreign_torch, 4, "PK\x03\x04"},
    {tutti_foreign_torch, 4, "PK\x05\x06"},
    {"a file of Keras or another HDF5 file: save its weights as safetensors, with PyTorch's names",
        4, "\x89HDF"},
    {"a NumPy file: save its arrays with safetensors.numpy.save_file", 6, "\x93NUMPY"},
    {"a GGUF file, whose weights are quantised: take the model's safetensors files", 4, "GGUF"},
    {"compressed by gzip: unpack it with gunzip", 2, "\x1f\x8b"},
    {"compressed by xz: unpack it with unxz", 6,
        "\xfd"
        "7zXZ"},
    {"compressed by zstd: unpack it with unzstd", 4, "\x28\xb5\x2f\xfd"},
    {"a pointer of Git LFS and not the file itself: fetch that with git lfs pull", 8, "version "},
    {"a web page and not the file itself: download it again", 2, "<!"},
    {"a web page and not the file itself: download it again", 5, "<html"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Pickles begin with their protocol and an opcode; ONNX with the version of its format, then a text. */
static const char *find_other(const unsigned char *first, size_t bytes)
{
    if (bytes < 3) return NULL;
    if (first[0] == 0x80 && first[1] >= 1 && first[1] <= 5 && first[2]) return tutti_foreign_torch;
    if (first[0] == 8 && first[1] > 0 && first[1] < 32 && (first[2] == 0x12 || first[2] == 0x3a))
        return "an ONNX model, whose name must end in .onnx: begin a run with its weights by "
               "--init-from";
    return NULL;
}

static int has(const char *text, size_t bytes, const char *word)
{
    const size_t length = strlen(word);
    for (size_t i = 0; i + length <= bytes; i++)
        if (!memcmp(text + i, word, length)) return 1;
    return 0;
}

const char *tutti_foreign_find(const void *first, size_t bytes)
{
    const char *text = first;
    if (bytes > 8 && text[8] == '{') return NULL; /* a header behind its length: safetensors */
    if (bytes > 36 && !memcmp(text, "PK", 2) && has(text + 30, bytes - 30, ".npy"))
        return "a NumPy archive: save its arrays with safetensors.numpy.save_file";
    for (int k = 0; k < KINDS; k++)
        if (bytes >= kinds[k].length && !memcmp(text, kinds[k].begins, kinds[k].length))
            return kinds[k].is;
    return find_other(first, bytes);
}
