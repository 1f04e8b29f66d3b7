/* The layers of a net as nodes of ONNX: a table by the kind of layer. Threads: [M]. */
#ifndef TUTTI_EXPORT_ONNX_NODES_H
#define TUTTI_EXPORT_ONNX_NODES_H

#include "apps/protobuf/protobuf.h"
#include "apps/session/session.h"

/* Appends the nodes of a GraphProto, and the constants that these need, weights apart.
 *   model   [in]   its name in the table of models
 *   needed  [out]  for each layer of the net: whether the result depends on it
 * UNSUPPORTED (logged: the layer); NOMEM. */
tutti_status tutti_onnx_nodes(
    const tutti_training_session *session, const char *model, char *needed, tutti_protobuf *graph);

#endif
