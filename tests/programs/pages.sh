#!/bin/bash
# What a stranger types:   pages.sh [PAGE]...
# Runs the commands of pages as they stand there, one after another in a folder that has what the pages name: a build, small
# data sets, and 300 photographs (drawn) in a folder for each class. tests/lint/commands.txt says which; tests/lint/commands.sh finds
# those that it does not name. The README's are a stranger's first: from photographs to a page of predictions, and to a StarPU program that
# sums over two ranks, in less than ten minutes. Not part of make check: make check-pages.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
src=$TUTTI_SRCDIR
export PATH=$apps:$apps/box:$PATH HOME=$dir
cd "$dir" && ln -s "$TUTTI_BUILDDIR" build || exit 1
paths='' seconds=0

# ---- what the pages name ----

make_cifar cifar-10-batches-bin 40
ln -s cifar-10-batches-bin cifar-10
ln -s "$src/quickstart" quickstart
mkdir build-imagenet
"$apps/data/scenes" --to scenes --images 24 > said 2>&1 || fail "scenes: $(cat said)" # 24 and 6 of each of ten classes
mkdir photographs
for class in scenes/train/*; do
    class=${class##*/}
    mkdir "photographs/$class"
    for half in train val; do for image in "scenes/$half/$class"/*; do cp "$image" "photographs/$class/$half-${image##*/}"; done; done
done
[ "$(find photographs -type f | wc -l)" = 300 ] || fail "there are $(find photographs -type f | wc -l) photographs"
# The pages' files of links.
tutti-info --topology star:4,1Gbit/s > four.txt
cp four.txt square.txt
tutti-info --topology dgx-1v > cluster.txt
cp "$src/apps/example/sgd_parallel.c" my_program.c

# try AT COMMAND: as it stands on the page; what it sets goes on.
try() {
    local status=0 began=$SECONDS
    [[ $2 != export\ * ]] || { paths+=$2$'\n'; return; }
    bash -e -c "$paths$2" > said 2>&1 < /dev/null || status=$?
    [ $status = 0 ] || { fail "$1: status $status: $2"; tail -n 5 said; }
    seconds=$((seconds + SECONDS - began))
    echo "$((SECONDS - began)) s  $1: $2"
}

# What commands.txt says of a command.
how() { # PAGE COMMAND
    local page pattern how
    while IFS= read -r row; do
        page=${row%% |*} how=${row##*| }
        row=${row#* | } pattern=${row% | *}
        [ "$page" = "$1" ] && [[ $2 =~ ^($pattern) ]] || continue
        echo "$how"
        return
    done < <(grep -v '^#' "$src/tests/lint/commands.txt")
}

pages=(README.md doc/photographs.md doc/training.md doc/checkpoint.md doc/operating.md doc/pipelines.md doc/scale.md
    doc/strategies.md doc/topologies.md)
[ $# = 0 ] || pages=("$@")
for page in "${pages[@]}"; do
    count=0
    rm -f photographs.safetensors* resnet20.safetensors* # of another page
    while IFS=$'\t' read -r at command; do
        case $page$(how "$page" "$command") in # of the README also what builds a program
        *pages | README.mdtests/install/install.sh) count=$((count + 1)) ;;
        *) continue ;;
        esac
        if [ "$page" = doc/photographs.md ] && [[ $command == ./quickstart* ]]; then # a minute's pictures; here an eighth
            TUTTI_BUILD=$TUTTI_BUILDDIR try "$at" "$command --images 24 --to build-imagenet"
            continue
        fi
        command=${command//build\/imagenet\//build-imagenet/}
        try "$at" "$command"
    done < <(cd "$src" && bash tests/lint/commands.sh --list "$page")
    [ "$count" -gt 0 ] || fail "$page: no command of it is run"
    if [ "$page" = README.md ]; then
        [ $seconds -lt 600 ] || fail "the paths of the README take $seconds s, more than ten minutes"
        [ "$(grep -o '<img ' predictions.html | wc -l)" = 300 ] || fail "predictions.html has $(grep -o '<img ' predictions.html | wc -l) pictures of 300"
        [ -s run.html ] || fail "there is no run.html"
    fi
done
finish
