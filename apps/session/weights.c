#include "apps/session/weights.h"

int tutti_weights_count(const tutti_training_session *s)
{
    return s->step->parameters + s->step->states;
}

int tutti_weights_tensor(const tutti_training_session *s, int i)
{
    const tutti_step *step = s->step;
    return i < step->parameters ? step->parameter[i] : step->state[i - step->parameters];
}

tutti_status tutti_weights_walk(const tutti_training_session *s, int count, tutti_mode mode,
    tutti_weights_visit visit, void *ctx)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < count && !status; i++) {
        int number = tutti_weights_tensor(s, i);
        const tutti_tensor *tensor = tutti_graph_get_tensor(s->graph, number);
        void *data;
        status = s->runner->acquire(s->run, number, mode, tensor->bytes, &data);
        if (status) return status;
        status = visit(ctx, tensor, data);
        s->runner->release(s->run, number);
    }
    return status;
}
