/* A file of weights as a net reads it: a checkpoint, what tutti-export wrote, or another program's; an ONNX model, too
 * (FILE.onnx), whose weights have PyTorch's axes and the names of its own layers.
 *
 * The one place that decides which axes the tensors of a file have, and by which names they are found:
 *   names    .scaleshift, .running, or what the update rule keeps ("m.NAME" beside NAME): a checkpoint's
 *   axes     as the metadata say; format (flax, tf) where it stands for others
 *   else     a checkpoint's if program and step are there, or else PyTorch's
 * In a file with PyTorch's axes, names may have a prefix that all of them share ("model."), and the
 * words of wrappers anywhere ("module.", "_orig_mod."). Threads: [M]. */
#ifndef TUTTI_TRAIN_WEIGHTS_FILE_H
#define TUTTI_TRAIN_WEIGHTS_FILE_H

#include "apps/session/session.h"
#include "apps/train/checkpoint.h"

typedef struct tutti_weights_name {
    const char *name; /* in the file */
    char *plain;      /* without the words of wrappers */
    int used;         /* a tensor of the net has looked for it */
} tutti_weights_name;

typedef struct tutti_weights_file {
    tutti_checkpoint *file;
    int torch;    /* its tensors have PyTorch's names and axes */
    int onnx;     /* it is a network itself, which needs all of them */
    char *prefix; /* of all names of this net; "" before match */
    int names;
    tutti_weights_name *name;
} tutti_weights_file;

/* The values of the metadata key axes: of checkpoints, and of files with PyTorch's axes. */
extern const char tutti_axes_checkpoint[], tutti_axes_torch[];

/* Whether the tensors of a file have PyTorch's names and axes. FORMAT (logged): it has other axes. */
tutti_status tutti_weights_axes(const tutti_checkpoint *file, int *torch);

/* Zeroed before, and closed in any case. The errors of tutti_checkpoint_open and tutti_weights_axes. */
tutti_status tutti_weights_open(const char *path, tutti_weights_file *file);
void tutti_weights_close(tutti_weights_file *file);

/* Finds the prefix of the names of this net. FORMAT (logged): two networks are in the file, or nothing
 * in it fits. */
tutti_status tutti_weights_match(
    tutti_weights_file *file, const tutti_training_session *session, const char *model);

/* Whether the file has a tensor for this one (name: its own, or what an average is of); if so, the
 * shape that it has and the one that it should have, in the file's axes. */
int tutti_weights_find(const tutti_weights_file *file, const tutti_net *net, const char *model,
    const tutti_tensor *tensor, const char *name, tutti_shape *has, tutti_shape *wants);
/* Fills it. FORMAT (logged): a tensor of the file is missing, has another shape, or a value that is
 * not finite, or a variance below 0; UNSUPPORTED: it has no name in PyTorch, or a type that cannot
 * be converted; IO; NOMEM. */
tutti_status tutti_weights_read(const tutti_weights_file *file, const tutti_net *net,
    const char *model, const tutti_tensor *tensor, const char *name, void *data);

/* How many tensors of the file the net has not looked for; *first: the name of one. */
int tutti_weights_further(const tutti_weights_file *file, const char **first);

#endif
