/* apps/models/torch_names: every model's tensors have the names and shapes that torchvision's have (written down in
 * tests/golden/torch/torchvision.txt), each name once, and all elements go there and back. */
#include "apps/models/model.h"
#include "apps/models/torch_names.h"
#include "dag/net/layer.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 8192, LINE = 256 };

typedef struct parts {
    int count;
    tutti_torch_part part[PARTS];
} parts;

static tutti_torch_tensor describe(
    const char *model, const tutti_layer *layer, const char *name, const tutti_shape *shape)
{
    tutti_torch_tensor tensor = {.model = model, .name = name, .rank = shape->rank};
    for (int d = 0; d < shape->rank; d++) tensor.dim[d] = shape->dim[d];
    if (layer->inputs) {
        tensor.H = layer->from[0].H;
        tensor.W = layer->from[0].W;
        tensor.C = layer->from[0].C;
    }
    return tensor;
}

static void add(
    parts *p, const char *model, const tutti_layer *layer, const char *suffix, tutti_shape shape)
{
    char name[2 * TUTTI_LAYER_NAME];
    snprintf(name, sizeof name, "%s.%s", layer->name, suffix);
    const tutti_torch_tensor tensor = describe(model, layer, name, &shape);
    ck_assert_int_le(p->count + TUTTI_TORCH_PARTS, PARTS);
    int count = tutti_torch_parts(&tensor, &p->part[p->count]);
    ck_assert_msg(count > 0, "%s: %s has no name", model, name);
    int64_t elements = 0;
    for (int i = 0; i < count; i++) elements += p->part[p->count + i].count;
    ck_assert_int_eq(elements, tutti_shape_count(&shape));
    p->count += count;
}

/* All parts of a model's tensors, with the images it is made for. */
static void list(const tutti_model *model, parts *p)
{
    const tutti_model_input *in = &model->input;
    tutti_net *net;
    p->count = 0;
    ck_assert_ok(tutti_net_new(&net));
    model->build(net, in->H, in->W, in->C, in->classes);
    ck_assert_ok(tutti_net_status(net));
    for (int l = 0; l < net->layers; l++) {
        const tutti_layer *layer = &net->layer[l];
        tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
        int count = tutti_layer_parameters(layer, parameter);
        for (int i = 0; i < count; i++)
            add(p, model->name, layer, parameter[i].suffix, parameter[i].shape);
        if (layer->kind->statistics)
            add(p, model->name, layer, "running", tutti_shape_of(2, layer->out[0].C));
    }
    tutti_net_free(net);
}

static const tutti_torch_part *find(const parts *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->part[i].name, name) == 0) return &p->part[i];
    return NULL;
}

/* "NAME 64 3 7 7" */
static void check_line(const parts *p, const char *model, const char *line)
{
    char name[TUTTI_TORCH_NAME];
    int used;
    ck_assert_int_eq(sscanf(line, "%95s%n", name, &used), 1);
    const tutti_torch_part *part = find(p, name);
    ck_assert_msg(part != NULL, "%s has no %s", model, name);
    for (int d = 0; d < part->rank; d++) {
        char *end;
        int64_t size = strtoll(line + used, &end, 10);
        ck_assert_msg(end > line + used && size == part->dim[d], "%s: %s: size %d is %lld", model,
            name, d, (long long)part->dim[d]);
        used = (int)(end - line);
    }
    ck_assert_msg(line[used] == '\n', "%s: %s has more sizes: %s", model, name, line + used);
}

START_TEST(names_are_torchvisions)
{
    static parts p;
    char line[LINE], word[16] = "", name[64] = "";
    int keys = 0, seen = 0, models = 0;
    FILE *file = fopen(testing_source("tests/golden/torch/torchvision.txt"), "r");
    ck_assert_ptr_nonnull(file);
    for (;;) {
        int more = fgets(line, sizeof line, file) != NULL;
        int begins = more && (!strncmp(line, "model ", 6) || !strncmp(line, "count ", 6));
        if ((begins || !more) && !strcmp(word, "model")) ck_assert_int_eq(seen, keys);
        if (!more) break;
        if (*line == '#') continue;
        if (!begins) {
            check_line(&p, name, line);
            seen++;
            continue;
        }
        ck_assert_int_eq(sscanf(line, "%15s %63s %d", word, name, &keys), 3);
        ck_assert_ptr_nonnull(tutti_model_find(name));
        list(tutti_model_find(name), &p);
        ck_assert_msg(p.count == keys, "%s has %d tensors, torchvision %d", name, p.count, keys);
        seen = 0;
        models++;
    }
    fclose(file);
    ck_assert_int_eq(models, 15);
}
END_TEST

START_TEST(names_are_unique)
{
    static parts p;
    for (int m = 0; tutti_models[m]; m++) {
        list(tutti_models[m], &p);
        for (int i = 0; i < p.count; i++)
            ck_assert_msg(find(&p, p.part[i].name) == &p.part[i], "%s: %s twice",
                tutti_models[m]->name, p.part[i].name);
    }
}
END_TEST

/* PyTorch's element by element, by its own rule. */
START_TEST(elements_go_there_and_back)
{
    static const tutti_torch_tensor tensors[] = {
        {"resnet20", "conv1.weight", 4, {5, 2, 3, 4}, 8, 8, 4},
        {"vgg16-224", "fc1.weight", 2, {7, 2 * 3 * 4}, 2, 3, 4},
        {"resnet20", "bn1.scaleshift", 2, {2, 6}, 8, 8, 6},
        {"resnet20", "bn1.running", 2, {2, 6}, 8, 8, 6},
        {"resnet20", "fc.bias", 1, {9}, 1, 1, 64},
    };
    for (size_t t = 0; t < sizeof tensors / sizeof *tensors; t++) {
        const tutti_torch_tensor *tensor = &tensors[t];
        tutti_torch_part part[TUTTI_TORCH_PARTS];
        float ours[512], theirs[512], back[512];
        int64_t count = 1;
        for (int d = 0; d < tensor->rank; d++) count *= tensor->dim[d];
        ck_assert_int_le(count, 512);
        for (int64_t i = 0; i < count; i++) {
            ours[i] = (float)i;
            back[i] = -1;
        }
        int parts_of = tutti_torch_parts(tensor, part);
        ck_assert_int_gt(parts_of, 0);
        for (int i = 0; i < parts_of; i++) {
            tutti_torch_pack(&part[i], ours, theirs);
            tutti_torch_unpack(&part[i], theirs, back);
            ck_assert(theirs[0] == (float)part[i].first);
        }
        ck_assert_mem_eq(ours, back, (size_t)count * sizeof *ours);
    }
    /* (k,r,s,c) at (k,c,r,s); (k,h,w,c) at (k,c,h,w) */
    tutti_torch_part part[TUTTI_TORCH_PARTS];
    float ours[512], theirs[512];
    for (int i = 0; i < 512; i++) ours[i] = (float)i;
    tutti_torch_parts(&tensors[0], part);
    tutti_torch_pack(&part[0], ours, theirs);
    ck_assert(theirs[((3 * 4 + 2) * 2 + 1) * 3 + 2] == (float)(((3 * 2 + 1) * 3 + 2) * 4 + 2));
    tutti_torch_parts(&tensors[1], part);
    tutti_torch_pack(&part[0], ours, theirs);
    ck_assert(theirs[((6 * 4 + 3) * 2 + 1) * 3 + 0] == (float)(((6 * 2 + 1) * 3 + 0) * 4 + 3));
    ck_assert_str_eq(part[0].name, "classifier.0.weight");
    tutti_torch_parts(&tensors[3], part);
    ck_assert_str_eq(part[0].name, "bn1.running_mean");
    ck_assert_str_eq(part[1].name, "bn1.running_var");
    ck_assert_int_eq(part[1].first, 6);
}
END_TEST

START_TEST(others_have_no_name)
{
    static const tutti_torch_tensor others[] = {
        {"mlp", "fc1", 1, {9}, 1, 1, 9},
        {"mlp", "fc1.other", 1, {9}, 1, 1, 9},
        {"mlp", "fc1.weight", 2, {3, 10}, 1, 1, 9},
        {"mlp", "fc1.weight", 3, {3, 3, 3}, 1, 1, 9},
        {"mlp", "fc1.scaleshift", 2, {3, 9}, 1, 1, 9},
    };
    tutti_torch_part part[TUTTI_TORCH_PARTS];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_int_eq(tutti_torch_parts(&others[i], part), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torch names");
    TCase *tcase = testing_case(suite, "torch names");
    tcase_add_test(tcase, names_are_torchvisions);
    tcase_add_test(tcase, names_are_unique);
    tcase_add_test(tcase, elements_go_there_and_back);
    tcase_add_test(tcase, others_have_no_name);
    return testing_run(suite);
}
