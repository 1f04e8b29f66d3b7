/* tutti-imagenet: trains a classifier of photographs on several ranks. See tutti-imagenet(1). */
#include "apps/train/program.h"

int main(int argc, char **argv)
{
    return tutti_train_main(&tutti_train_imagenet, argc, argv);
}
