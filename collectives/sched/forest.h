/* Forests: broadcast, reduce and allreduce along spanning trees.
 *
 * A vector is divided among the trees of a forest by their weights. Along each tree, a broadcast goes from the
 * root to the leaves, and a reduce the same way back: a rank adds what its children send, in a fixed order, to its
 * own input, and sends the sum to its parent. An allreduce is a reduce to the tree's root, then a broadcast. Each
 * part travels in segments, and all trees work on one segment after the other, so that levels and trees overlap.
 *
 *   P = 5, root 0   pipelined chain   k-nomial, k = 3   chains of 2, binomial   chains of 2, a chain
 *   broadcast       0-1-2-3-4         0 - 1 2 3         0 - 1 2 4               0 - 1 2
 *   (- to children)                   3 - 4             2 - 3                   2 - 3 4
 *
 *                     depth of the tree      children of a rank, at most
 *   pipelined chain   P - 1                  1: sends S bytes once
 *   k-nomial          ceil(log_k P)          (k - 1) ceil(log_k P)
 *   chain-binomial    ceil(log2(P/k)) + k-1  ceil(log2(P/k)) + 1
 *   chain-chain       P/k + k - 2            2
 *
 * With G segments, a tree of depth d and c children takes about (d + c G) times the time of a segment; allreduces
 * twice that. Ranks count from the root: v = (r - root) mod P. Children with deep subtrees are sent to first and
 * added last. Scratch: two segments, or as many as fit into a cache (480 Ki elements), but no more than two for
 * each child.
 *
 * Each element is summed along one tree and then copied: all ranks hold the same bits, which depend on the forest
 * alone, not on segments. Ranks are not combined in their order.
 *
 * Sources: Awan, Hamidouche, Hashmi, Panda, "S-Caffe", PPoPP 2017 (chains under a tree, chains of chains); Awan,
 * Hamidouche, Venkatesh, Panda, "Efficient large message broadcast using NCCL and CUDA-aware MPI for deep
 * learning", EuroMPI 2016, and arXiv:1707.09414 (pipelined chain, k-nomial); Wang et al., "Blink", MLSys 2020
 * (several trees). */
#ifndef TUTTI_SCHED_FOREST_H
#define TUTTI_SCHED_FOREST_H

#include "collectives/sched/sched.h"

/* A spanning tree of the ranks. */
typedef struct tutti_tree {
    int *parent; /* [P] of each rank; the root's is -1 */
    double weight;
} tutti_tree;

/* The weights are more than 0; only their ratios count. */
struct tutti_forest {
    int P, trees;
    tutti_tree *tree;
};

/* A forest of n trees, whose parents are all -1. NOMEM. */
tutti_status tutti_forest_new(int P, int trees, tutti_forest **forest);
void tutti_forest_free(tutti_forest *forest); /* accepts NULL */
/* Adds a copy of a tree. One that is already there gets the weight on top of its own. NOMEM. */
tutti_status tutti_forest_add(tutti_forest *forest, const int parent[], double weight);
/* INVAL (logged): some tree has not one root, or a circle; a parent that is not a rank, a weight that is not above
 * 0. */
tutti_status tutti_forest_check(const tutti_forest *forest);

/* Trees by name, for P ranks: the parent of each, -1 for the root's. k >= 1; a k-nomial tree has k >= 2. */
void tutti_tree_chain(int P, int root, int k, int parent[]); /* k does not count */
void tutti_tree_nomial(int P, int root, int k, int parent[]);
void tutti_tree_chain_binomial(int P, int root, int k, int parent[]);
void tutti_tree_chain_chain(int P, int root, int k, int parent[]);
/* A binomial tree of the first ranks of machines (host: sched.h; the root is the first of its own), with a chain
 * in each. NOMEM. */
tutti_status tutti_tree_hosts(int P, int root, const int host[], int parent[]);
/* [P] The rank that has no parent. */
int tutti_tree_root(const int parent[]);
/* Makes a rank the root: those from it up to the root turn around. */
void tutti_tree_turn(int parent[], int root);

/* Builders of broadcasts, reduces and allreduces. Along the shape's forest (sched.h); trees of a broadcast or a
 * reduce turn to the shape's root. */
tutti_status tutti_sched_forest(const tutti_sched_shape *shape, tutti_sched **sched);
tutti_status tutti_sched_along(
    const tutti_sched_shape *shape, const tutti_forest *forest, tutti_sched **sched);
/* Along one tree, made for the shape's root and radix (k). */
tutti_status tutti_sched_chain(const tutti_sched_shape *shape, tutti_sched **sched);
tutti_status tutti_sched_nomial(const tutti_sched_shape *shape, tutti_sched **sched);
tutti_status tutti_sched_chain_binomial(const tutti_sched_shape *shape, tutti_sched **sched);
tutti_status tutti_sched_chain_chain(const tutti_sched_shape *shape, tutti_sched **sched);

#endif
