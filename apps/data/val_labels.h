/* Labels of ILSVRC's validation images where these are not sorted into a folder for each class.
 *
 * Two files are known, in DIR or in DIR/val:
 *   val.txt                 Caffe's: a line is "ILSVRC2012_val_00000001.JPEG 65"; classes are
 *                           numbered from 0 in the order of their names (wnids). A name may have
 *                           blanks: the number follows the last one
 *   LOC_val_solution.csv    Kaggle's: "ILSVRC2012_val_00048981,n03995372 85 1 499 272", the image's
 *                           name without its ending, and the class's name
 * The ground truth of the development kit (ILSVRC2012_validation_ground_truth.txt) numbers classes
 * in an order of its own, so it is refused.
 *
 * Errors: FORMAT, IO (logged, with the file and the line), NOMEM. Threads: [A]. */
#ifndef TUTTI_VAL_LABELS_H
#define TUTTI_VAL_LABELS_H

#include "apps/data/folder.h"
#include "dag/base/status.h"

#include <stdint.h>

/* dir: the folder that holds train and val. tells: warns of lines for images that are not there.
 * labels [out]: one per image. */
tutti_status tutti_val_labels_read(const char *dir, const tutti_names *classes,
    const tutti_names *images, int tells, int32_t *labels);

#endif
