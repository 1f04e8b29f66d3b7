/* tutti-cifar: trains a classifier of small images on several ranks. See tutti-cifar(1). */
#include "apps/train/program.h"

int main(int argc, char **argv)
{
    return tutti_train_main(&tutti_train_cifar, argc, argv);
}
