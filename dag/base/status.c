#include "dag/base/status.h"

static const struct {
    const char *name, *sentence;
} rows[] = {
#define ROW(code, name, sentence) {name, sentence},
    TUTTI_STATUS_LIST(ROW)
#undef ROW
};

const char *tutti_status_name(tutti_status status)
{
    return (unsigned)status < TUTTI_STATUS_COUNT ? rows[status].name : "unknown";
}

const char *tutti_status_text(tutti_status status)
{
    return (unsigned)status < TUTTI_STATUS_COUNT ? rows[status].sentence : "unknown status";
}
