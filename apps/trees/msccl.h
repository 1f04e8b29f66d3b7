/* Algorithms of MSCCL, as its compiler writes them in XML: read, and turned into schedules, which can be proved and
 * priced (collectives/sched/match.h, price.h).
 *
 *   <algo coll="allreduce" inplace="1" ngpus="8" nchunksperloop="8" ...>
 *     <gpu id="0" i_chunks="8" o_chunks="8" s_chunks="0">
 *       <tb id="0" send="1" recv="7" chan="0">
 *         <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1"/>
 *
 * A threadblock runs its steps in order; a step also waits for step `deps` of threadblock `depid` of its GPU. Messages
 * are matched by GPUs and channel. Steps: s, r, rcs, rrc, rrs, rrcs, cpy, re, nop. Allreduces only.
 *
 * Source: Cowan, Maleki, Musuvathi, Saarikivi, Xiong, "MSCCLang: Microsoft collective communication language", ASPLOS
 * 2023. */
#ifndef TUTTI_MSCCL_H
#define TUTTI_MSCCL_H

#include "collectives/sched/sched.h"
#include "dag/base/lines.h"

typedef struct tutti_msccl tutti_msccl;

/* Reads a whole text. FORMAT (logged, with the line): what is wrong. UNSUPPORTED (logged):
 * another collective. NOMEM. */
tutti_status tutti_msccl_read(tutti_lines *lines, tutti_msccl **algorithm);
void tutti_msccl_free(tutti_msccl *algorithm); /* accepts NULL */
int tutti_msccl_gpus(const tutti_msccl *algorithm);
int tutti_msccl_chunks(const tutti_msccl *algorithm); /* that vectors are cut into */
/* The schedules of all GPUs, for chunks of this many elements. FORMAT (logged): steps that wait for each other for
 * ever, or messages that no rank receives. MISMATCH (logged, with the lines): one step of a GPU writes what another
 * one uses, and neither waits for the other. NOMEM. */
tutti_status tutti_msccl_build(const tutti_msccl *algorithm, int64_t chunk, tutti_sched *ranks[]);

#endif
