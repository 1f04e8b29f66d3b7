#!/bin/bash
# Pages, manuals and examples:   pages.sh [TREE]
#
#   render    groff renders each page without a warning (where there is groff)
#   blanks    a macro of two fonts (.BR "x" . Text) joins its arguments: no sentence among them
#   example   doc/operating.md shows apps/example/slurm.sh as it is
#   links     a page that another one links to, or names as `doc/NAME.md`, exists; doc/index.md lists all of doc/*.md, each of
#             which says in its third line for whom it is; README.md has 120 lines at most
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
command -v groff > /dev/null || echo "left out: rendered pages: groff is not installed"

if [ -f apps/example/slurm.sh ]; then
    shown=$(sed -n '/^    #!\/bin\/bash$/,/^    exit/p' doc/operating.md | sed 's/^    //')
    [ "$shown" = "$(cat apps/example/slurm.sh)" ] || complain "doc/operating.md:1: does not show apps/example/slurm.sh as it is"
fi
for page in README.md HACKING.md doc/*.md; do
    [ -f "$page" ] || continue
    while IFS=: read -r line link; do
        [ -e "$(dirname "$page")/${link%%#*}" ] || complain "$page:$line: there is no $link"
    done < <(grep -noE '\]\([^):]+\)' "$page" | sed -E 's/\]\(([^)]*)\)/\1/')
    while IFS=: read -r line named; do
        [ -e "$named" ] || complain "$page:$line: there is no $named"
    done < <(grep -noE '\bdoc/[a-z_]+\.(md|svg|jsonl)\b' "$page")
done
if [ -f doc/index.md ]; then
    for page in doc/*.md; do
        [ "$page" = doc/index.md ] || sed -n 3p "$page" | grep -q '^For ' || complain "$page:3: does not say who it is for"
        [ "$page" = doc/index.md ] || grep -qF "](${page#doc/})" doc/index.md || complain "doc/index.md:1: does not list ${page#doc/}"
    done
fi
[ ! -f README.md ] || [ "$(wc -l < README.md)" -le 120 ] || complain "README.md:121: has more than 120 lines: a page of doc may have them"
if [ -f doc/local.mk ]; then
    for file in $(grep -rhoE 'apps/example/[a-z_]+\.(c|sh)' README.md doc | sort -u); do
        [ ! -f "$file" ] || grep -q "$file" doc/local.mk || complain "doc/local.mk:1: does not install $file"
    done
fi
exit $bad
