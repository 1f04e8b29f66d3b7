#include "collectives/transport/transport.h"

const tutti_transport_about tutti_transports[] = {
#define ROW(name, summary) {#name, summary},
    TUTTI_TRANSPORT_LIST(ROW)
#undef ROW
        {NULL, NULL},
};
