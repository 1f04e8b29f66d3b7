#!/bin/bash
# Manual pages and examples:   pages.sh [TREE]
#
#   render    groff renders each page without a warning (where there is groff)
#   blanks    a macro of two fonts (.BR "x" . Text) joins its arguments: no sentence among them
#   example   README.md shows apps/example/slurm.sh as it is
#   installed doc/local.mk installs every file of apps/example that a page or a document names
#
# Prints "file:line: rule" for each fault, and exits with 1.
set -u
tree=${1:-${TUTTI_SRCDIR:-.}}
cd "$tree" || exit 2
bad=0
complain() { echo "$*"; bad=1; }

for page in doc/*.[1-9]; do
    [ -f "$page" ] || continue
    while IFS=: read -r line _; do
        complain "$page:$line: a macro of two fonts joins these words: put the sentence on the next line"
    done < <(grep -nE "^\.(BR|RB|BI|IB|RI|IR) (.* )?([^ ]*[.;:,?!)]|[\"'].*[\"'][.,]?) [A-Za-z][a-z]+ [a-z]+( |$)" "$page" | grep -vE '^[0-9]+:[^"]*("[^"]*"[^"]*)*"[^"]* [A-Za-z][a-z]+ [a-z]+[^"]*"[^"]*$')
    command -v groff > /dev/null || continue
    said=$(groff -ww -man -Tutf8 -z "$page" 2>&1) && [ -z "$said" ] || complain "$page:1: groff says: $said"
done
command -v groff > /dev/null || echo "no groff: pages are not rendered"

if [ -f apps/example/slurm.sh ]; then
    shown=$(sed -n '/^    #!\/bin\/bash$/,/^    exit/p' README.md | sed 's/^    //')
    [ "$shown" = "$(cat apps/example/slurm.sh)" ] || complain "README.md:1: does not show apps/example/slurm.sh as it is"
fi
if [ -f doc/local.mk ]; then
    for file in $(grep -rhoE 'apps/example/[a-z_]+\.(c|sh)' README.md doc | sort -u); do
        [ ! -f "$file" ] || grep -q "$file" doc/local.mk || complain "doc/local.mk:1: does not install $file"
    done
fi
exit $bad
