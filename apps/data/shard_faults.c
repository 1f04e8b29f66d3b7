#include "apps/data/shard_faults.h"

#include "dag/base/log.h"

#include <inttypes.h>
#include <stdio.h>

/* refused: what a check says of one. counted: what training says of all. */
static const struct {
    const char *refused, *counted;
} kinds[TUTTI_FAULTS] = {
    [TUTTI_FAULT_TWO_IMAGES] = {"has two images", "images replace an earlier one of the same key"},
    [TUTTI_FAULT_TWO_LABELS] = {"has two labels", "labels repeat an earlier one of the same key"},
    [TUTTI_FAULT_LABELS_DIFFER] = {"has labels that contradict each other",
        "labels contradict another one of the same key; the last .cls counts"},
    [TUTTI_FAULT_FOLDER] = {"contradicts its folder",
        "labels are not those of nearly all other images in the same folder"},
    [TUTTI_FAULT_DOTS] = {"has a further dot in its name, so that it is the label of no image",
        "labels have a further dot in their names, and are left out with their images: a key ends "
        "at the first dot"},
    [TUTTI_FAULT_NO_FILE] = {"is no plain file, so that its contents cannot be read",
        "entries are no plain files, and are left out with their samples; tar's options -h and "
        "--hard-dereference store files instead of links"},
    [TUTTI_FAULT_JOINED] = {"follows tar's mark of the end: archives were joined, and most "
                            "programs "
                            "read only the first: pack them again",
        "archives follow another one in the same file, and are read, too; most other programs read "
        "only the first"},
    [TUTTI_FAULT_AFTER_END] = {"follows tar's mark of the end: a header before it was overwritten",
        "shards continue after tar's mark of the end, which is not read: images may be missing; "
        "copy "
        "or "
        "pack them again"},
    [TUTTI_FAULT_SHORT_END] = {"ends in tar's mark of the end: it is truncated",
        "shards end within tar's mark of the end, as if truncated"},
    [TUTTI_FAULT_NO_IMAGE] = {"has no image",
        "records hold no image, and are left out (as those in which InsightFace keeps counts)"},
    [TUTTI_FAULT_NOT_LISTED] = {"is a record that the index does not have",
        "records are not in the index, and are left out; without the .idx file all are read"},
    [TUTTI_FAULT_LISTED_TWICE] = {"is a record that the index has twice",
        "lines of the index repeat a record, which is read as often"},
};

tutti_status tutti_shard_faults_add(tutti_shard_faults *faults, tutti_shard_fault kind,
    const char *path, int64_t at, const char *what)
{
    if (faults->strict)
        return tutti_fail(
            TUTTI_ERR_FORMAT, "%s: byte %" PRId64 ": %s %s", path, at, what, kinds[kind].refused);
    if (!faults->count[kind]++)
        snprintf(
            faults->example[kind], TUTTI_FAULT_EXAMPLE, "%s, byte %" PRId64 ": %s", path, at, what);
    return TUTTI_OK;
}

void tutti_shard_faults_report(const tutti_shard_faults *faults, const char *set)
{
    for (int k = 0; k < TUTTI_FAULTS; k++)
        if (faults->count[k])
            tutti_log(TUTTI_LOG_WARN, "%s: %" PRId64 " %s; the first: %s", set, faults->count[k],
                kinds[k].counted, faults->example[k]);
}
