#include "collectives/rules.h"

static int is_power_of_two(int P)
{
    return !(P & (P - 1));
}

static int fits_ranks(const tutti_rule *r, int P)
{
    return P >= r->least_P && (!r->most_P || P <= r->most_P) &&
           (!r->power_of_two || is_power_of_two(P));
}

static int holds(tutti_rule_if when, int is_so)
{
    return when == TUTTI_IF_EITHER || (when == TUTTI_IF_SO) == (is_so != 0);
}

static int fits(const tutti_rule *r, const tutti_choice_key *key)
{
    return (r->each || r->kind == key->kind) && fits_ranks(r, key->P) &&
           (!r->element || (size_t)r->element == key->element) &&
           key->count * (int64_t)key->element >= r->from && holds(r->near, key->near) &&
           holds(r->wide, key->wide) && holds(r->ordered, key->ordered) &&
           holds(r->whole, key->whole);
}

void tutti_rules_apply(const tutti_rules *rules, const tutti_choice_key *key, tutti_rule *said)
{
    for (int i = 0; rules && i < rules->n; i++) {
        const tutti_rule *r = &rules->rule[i];
        if (!fits(r, key)) continue;
        if (r->algorithm) {
            said->algorithm = r->algorithm;
            said->radix = r->radix;
        }
        if (r->segment) said->segment = r->segment;
        if (r->chunk) said->chunk = r->chunk;
    }
}

int64_t tutti_rules_chunk(const tutti_rules *rules, int P, int near)
{
    const tutti_choice_key key = {
        .kind = TUTTI_ALLREDUCE, .P = P, .near = near, .count = INT64_MAX / 8, .element = 4};
    tutti_rule said = {.chunk = 0};
    tutti_rules_apply(rules, &key, &said);
    return said.chunk;
}

int tutti_rules_fit(const tutti_rules *rules, int P)
{
    for (int i = 0; i < rules->n; i++)
        if (fits_ranks(&rules->rule[i], P)) return 1;
    return 0;
}
