#!/bin/bash
# Lists what a build's tests could not run on this machine, so that no skip goes unseen:   left_out.sh BUILD [MAY]
# Whole tests that were skipped, with the last line that they print, and the parts that a test reports as "left out: WHAT: WHY",
# each with the number of times. Prints nothing where all ran. With MAY, a file of regular expressions, lists only what none of
# them matches, and then fails.
set -u
listed=$(
    cd "${1:?the build folder}" && find tests -name '*.trs' | sort | while read -r trs; do
        name=${trs%.trs} log=${trs%.trs}.log
        if grep -q '^:test-result: SKIP' "$trs"; then
            why=$(grep -avE '^(SKIP |guard: took )' "$log" | tail -n 1)
            printf '  %s: %s\n' "$name" "${why:-it does not say why}"
        fi
        grep -a '^left out: ' "$log" | sort | uniq -c | while read -r times _ _ what; do
            printf '  %s: %s%s\n' "$name" "$what" "$([ "$times" = 1 ] || echo " ($times times)")"
        done
    done
)
if [ -n "${2:-}" ]; then
    listed=$(sed -E 's/ \([0-9]+ times\)$//' <<< "$listed" | grep -vxE -f <(sed -n '/^#/!s/^/  /p' "$2") | grep .)
    [ -n "$listed" ] || exit 0
    printf 'Left out, and %s does not say that it may be:\n%s\n' "$2" "$listed"
    exit 1
fi
[ -z "$listed" ] || printf 'Left out on this machine, %d tests or parts:\n%s\n' "$(wc -l <<< "$listed")" "$listed"
