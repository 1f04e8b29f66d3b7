/* apps/models: parameter counts, other shapes and class counts, and images that are too small. */
#include "apps/models/model.h"
#include "dag/step/step.h"
#include "tests/support/testing.h"

#include <string.h>

static tutti_net *build(const tutti_model *model, int64_t H, int64_t W, int64_t C, int64_t classes)
{
    tutti_net *net;
    ck_assert_ok(tutti_net_new(&net));
    model->build(net, H, W, C, classes);
    return net;
}

START_TEST(counts_are_the_papers)
{
    for (int i = 0; tutti_models[i]; i++) {
        const tutti_model *model = tutti_models[i];
        const tutti_model_input *in = &model->input;
        tutti_net *net = build(model, in->H, in->W, in->C, in->classes);
        ck_assert_ok(tutti_net_status(net));
        ck_assert_msg(tutti_net_parameters(net) == model->parameters,
            "%s: %lld parameters, not %lld", model->name, (long long)tutti_net_parameters(net),
            (long long)model->parameters);
        tutti_net_free(net);
    }
}
END_TEST

/* Every model, and the smallest square image that it takes. */
static const struct {
    const char *name;
    int64_t smallest;
} rows[] = {{"mlp", 1}, {"mlp-1024x5", 1}, {"wide-mlp", 1}, {"cd-dnn", 1}, {"cifar-quick", 5},
    {"resnet8", 3}, {"resnet20", 3}, {"resnet32", 3}, {"resnet44", 3}, {"resnet56", 3},
    {"resnet110", 3}, {"preact-resnet110", 3}, {"resnet1001", 1}, {"vgg16", 16}, {"resnet18", 3},
    {"resnet34", 3}, {"resnet50", 3}, {"resnet101", 3}, {"resnet152", 3}, {"resnext50-32x4d", 3},
    {"alexnet", 55}, {"alexnet-tv", 63}, {"vgg11-224", 16}, {"vgg13-224", 16}, {"vgg16-224", 16},
    {"vgg19-224", 16}, {"vgg11-bn-224", 16}, {"vgg16-bn-224", 16}, {"vgg19-bn-224", 16},
    {"googlenet", 63}, {"googlenet-bn", 47}, {"mobilenet-v1", 1}, {"overfeat-fast", 71}};
enum { ROWS = sizeof rows / sizeof *rows };

START_TEST(found_by_name)
{
    int models = 0;
    while (tutti_models[models]) models++;
    ck_assert_int_eq(models, ROWS);
    for (int i = 0; i < ROWS; i++) {
        const tutti_model *model = tutti_model_find(rows[i].name);
        ck_assert_msg(model != NULL, "no model %s", rows[i].name);
        ck_assert_str_eq(model->name, rows[i].name);
        ck_assert_uint_gt(strlen(model->summary), 10);
    }
    ck_assert_ptr_null(tutti_model_find("resnet21"));
}
END_TEST

/* Of googlenet's parameters, those of its auxiliary classifiers are for training alone. */
START_TEST(auxiliary_parameters)
{
    tutti_net *net = build(tutti_model_find("googlenet"), 224, 224, 3, 1000);
    tutti_step_options options = {.batch = 2, .micro_batches = 1};
    tutti_step *step;
    int64_t parameters[2] = {0};
    ck_assert_ok(tutti_step_build(net, &options, &step));
    for (int i = 0; i < step->parameters; i++) {
        const tutti_tensor *t = tutti_graph_get_tensor(step->graph, step->parameter[i]);
        parameters[!strncmp(t->name, "aux", 3)] += tutti_shape_count(&t->shape);
    }
    ck_assert_int_eq(parameters[0], 6998552);
    ck_assert_int_eq(parameters[1], 13378280 - 6998552);
    tutti_step_free(step);
    tutti_net_free(net);
}
END_TEST

/* What is not smaller than the smallest image in either way builds, as a step in both types. */
START_TEST(other_images_and_classes)
{
    static const struct {
        int64_t H, W, C, classes;
    } shapes[] = {{28, 28, 1, 10}, {32, 32, 3, 100}, {33, 47, 4, 1}, {64, 64, 3, 1000},
        {16, 16, 3, 2}, {97, 66, 1, 5}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int64_t H = shapes[s].H, W = shapes[s].W;
        if ((H < W ? H : W) < rows[_i].smallest) continue;
        tutti_net *net =
            build(tutti_model_find(rows[_i].name), H, W, shapes[s].C, shapes[s].classes);
        ck_assert_ok(tutti_net_status(net));
        tutti_step_options options = {.batch = 4, .micro_batches = 2};
        tutti_step *step;
        ck_assert_ok(tutti_step_build(net, &options, &step));
        tutti_step_free(step);
        options.precision = TUTTI_BF16;
        ck_assert_ok(tutti_step_build(net, &options, &step));
        tutti_step_free(step);
        tutti_net_free(net);
    }
}
END_TEST

START_TEST(too_small_images_are_errors)
{
    for (int i = 0; i < ROWS; i++) {
        for (int64_t less = 0; less < 2; less++) {
            int64_t H = rows[i].smallest - less;
            tutti_net *net = build(tutti_model_find(rows[i].name), H, H, 3, 10);
            ck_assert_msg(tutti_net_status(net) == (less ? TUTTI_ERR_INVAL : TUTTI_OK),
                "%s at %lldx%lld: %s", rows[i].name, (long long)H, (long long)H,
                tutti_status_name(tutti_net_status(net)));
            tutti_net_free(net);
        }
    }
}
END_TEST

START_TEST(no_classes_is_an_error)
{
    for (int i = 0; tutti_models[i]; i++) {
        tutti_net *net = build(tutti_models[i], 64, 64, 3, 0);
        ck_assert_int_eq(tutti_net_status(net), TUTTI_ERR_INVAL);
        tutti_net_free(net);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("models");
    TCase *tcase = testing_case(suite, "models");
    tcase_add_test(tcase, counts_are_the_papers);
    tcase_add_test(tcase, found_by_name);
    tcase_add_test(tcase, auxiliary_parameters);
    tcase_add_loop_test(tcase, other_images_and_classes, 0, ROWS);
    tcase_add_test(tcase, too_small_images_are_errors);
    tcase_add_test(tcase, no_classes_is_an_error);
    return testing_run(suite);
}
