#include "apps/svm/tile.h"

extern const tutti_svm_loops tutti_svm_loops_float_default, tutti_svm_loops_double_default;
#if TUTTI_HAS_CLONES
extern const tutti_svm_loops tutti_svm_loops_float_avx2, tutti_svm_loops_float_avx512,
    tutti_svm_loops_double_avx2, tutti_svm_loops_double_avx512;
#endif

const tutti_svm_loops *tutti_svm_loops_of(int doubles)
{
    static const tutti_svm_loops *const loops[2][TUTTI_ISAS] = {
        TUTTI_OF_EACH_ISA(&tutti_svm_loops_float), TUTTI_OF_EACH_ISA(&tutti_svm_loops_double)};
    return loops[doubles != 0][tutti_isa_chosen()];
}
