#!/bin/bash
# ./quickstart imagenet: draws pictures or unpacks an archive, trains with every design, prints a table with equal hashes, names
# what is on pictures, draws the curves. The build is the one that is tested.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
export TUTTI_BUILD=$TUTTI_BUILDDIR
quickstart() { "$TUTTI_SRCDIR/quickstart" "$@" > "$dir/out" 2>&1; }
succeeds() { quickstart "$@" || { fail "status $?: $*"; tail -n 40 "$dir/out"; }; }
# One line for each design, with the same hash; three pictures, each with its first class.
check() { # RESULTS CLASSES
    local design
    for design in $(names overlapping); do
        grep -qE "^$design +[0-9.]+ +[0-9]+ +[0-9.unkow]+ +[0-9.]+% +[0-9.]+%  [0-9a-f]{16}$" "$dir/out" || { fail "no line of $design"; cat "$dir/out"; }
        [ -s "$1/$design.json" ] || fail "no $design.json"
    done
    [ "$(grep -oE '  [0-9a-f]{16}$' "$dir/out" | sort -u | wc -l)" = 1 ] || { fail "hashes"; cat "$dir/out"; }
    grep -q '^The same weights, bit for bit' "$dir/out" || fail "the hashes are not compared"
    [ "$(grep -cE "^ +[0-9.]+ %  ($2)$" "$dir/out")" = 15 ] || { fail "what is on three pictures"; tail -n 25 "$dir/out"; }
    grep -q 'resnet18: test accuracy' "$1/curves.svg" && [ -s "$1/report.html" ] && [ -s "$1/weights.safetensors" ] || fail "files in $1"
}

succeeds imagenet --images 8 --size 32 --to "$dir/drawn"
check "$dir/drawn" 'balloon|bricks|clouds|fence|hills|moon|planks|sea|sunset|tiles'

# An archive with a folder around it; imagenette's classes get names.
mkdir "$dir/top"
for split in train val; do
    mkdir "$dir/top/$split"
    for class in n01440764:balloon n02102040:bricks n02979186:moon n03000684:sea n03028079:tiles; do
        cp -r "$dir/drawn/scenes/$split/${class#*:}" "$dir/top/$split/${class%:*}"
    done
done
tar -czf "$dir/some.tgz" -C "$dir" top
(cd "$dir" && succeeds imagenet --data some.tgz --size 32 --to unpacked)
check "$dir/unpacked" 'tench|English springer|cassette player|chain saw|church'

# What a user has there stays: photographs by the same name, and an archive among those that would be made anew.
mkdir -p "$dir/mine/photographs" "$dir/mine/scenes"
touch "$dir/mine/photographs/cat.jpg" "$dir/mine/scenes/sea.jpg"
refuses 1 'mine/photographs is there, and nothing says' quickstart imagenet --data "$dir/some.tgz" --to "$dir/mine"
refuses 1 'mine/scenes is there, and nothing says' quickstart imagenet --to "$dir/mine"
cp "$dir/some.tgz" "$dir/unpacked/photographs/"
refuses 1 'some.tgz: it is in .*, which is made anew' quickstart imagenet --data "$dir/unpacked/photographs/some.tgz" --to "$dir/unpacked"
[ -e "$dir/mine/photographs/cat.jpg" ] && [ -e "$dir/mine/scenes/sea.jpg" ] && [ -s "$dir/unpacked/photographs/some.tgz" ] || fail "files of the user are gone"

# Pictures are the same every time.
"$apps/data/scenes" --to "$dir/again" --images 8 && diff -r -x .quickstart "$dir/again" "$dir/drawn/scenes" || fail "other pictures"
"$apps/data/scenes" --to "$dir/other" --images 1 --seed 2
cmp -s "$dir/other/train/moon/0000.jpg" "$dir/again/train/moon/0000.jpg" && fail "--seed changes nothing"

refuses 1 'there is no such file or folder' quickstart imagenet --data "$dir/none"
source=$(cd "$TUTTI_SRCDIR" && pwd)
[ "$(cd "$source/.." && "${source##*/}/quickstart" | head -n 1)" = "From a fresh Debian or Ubuntu machine to a trained network, in one command." ] ||
    fail "the help, called from the folder above"
refuses 1 'unknown option --model' quickstart imagenet --model resnet50
refuses 1 '--size needs a value' quickstart imagenet --size
tar -cf "$dir/empty.tar" -C "$dir" drawn/report.html
refuses 1 'it has no folder train/' quickstart imagenet --data "$dir/empty.tar" --to "$dir/refused"
refuses 1 'tar cannot unpack it' quickstart imagenet --data "$dir/drawn/report.html" --to "$dir/refused"

# An archive writes nothing elsewhere, makes no devices, and gives nobody rights.
python3 - "$dir" << 'EOF' || fail "no archives"
import io, sys, tarfile
def archive(name, *entries):
    with tarfile.open(f"{sys.argv[1]}/{name}.tar", "w") as tar:
        for path, kind, mode, link in entries:
            info = tarfile.TarInfo(path)
            info.type, info.mode, info.linkname, info.size = kind, mode, link, 1 if kind == tarfile.REGTYPE else 0
            info.uid = info.gid = 4321
            tar.addfile(info, io.BytesIO(b"x"))
FILE, LINK, HARD = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
archive("device", ("train/a/null", tarfile.CHRTYPE, 0o666, ""))
archive("pipe", ("train/a/pipe", tarfile.FIFOTYPE, 0o666, ""))
archive("up", ("train/a/../../../up", FILE, 0o644, ""))
archive("absolute", (sys.argv[1] + "/absolute", FILE, 0o644, ""))
archive("hard", ("train/a/hard", HARD, 0o644, "../secret"))
archive("link", ("train/a/link -> x", LINK, 0o777, "/etc/passwd"))
archive("climbs", ("train/a/b", LINK, 0o777, "../../.."))
archive("bits", ("top/a/suid", FILE, 0o6777, ""))
EOF
for name in device pipe; do
    refuses 1 'nothing is unpacked: train/a/[a-z]*: not a file' quickstart imagenet --data "$dir/$name.tar" --to "$dir/refused"
done
for name in up absolute hard; do
    refuses 1 'its path leads out of the archive' quickstart imagenet --data "$dir/$name.tar" --to "$dir/refused"
done
for name in link climbs; do
    refuses 1 'a link in it leads to /' quickstart imagenet --data "$dir/$name.tar" --to "$dir/refused"
done
[ -e "$dir/up" ] || [ -e "$dir/absolute" ] || [ -n "$(find "$dir/refused" -mindepth 2)" ] && fail "a refused archive leaves files"
refuses 1 'it has no folder train/' quickstart imagenet --data "$dir/bits.tar" --to "$dir/refused"
[[ "$(stat -c '%u %a' "$dir/refused/photographs/top/a/suid")" =~ ^$(id -u)\ [0-7]{3}$ ]] || fail "rights of an unpacked file"

# ./quickstart cuda: what it refuses, before it installs or builds anything. The toolkit is an nvcc that only tells its release.
unset TUTTI_BUILD
mkdir -p "$dir/toolkit/bin" "$dir/nothing"
printf '#!/bin/sh\necho "Cuda compilation tools, release 13.0, V13.0.88"\n' > "$dir/toolkit/bin/nvcc"
chmod +x "$dir/toolkit/bin/nvcc"
refuses 1 'unknown option --size' quickstart cuda --size 64
refuses 1 '--prefix needs a value' quickstart cuda --prefix
refuses 1 "--toolkit $dir/nothing: there is no bin/nvcc in it" quickstart cuda --toolkit "$dir/nothing"
refuses 1 "--source $dir/none: there is no such file" quickstart cuda --toolkit "$dir/toolkit" --source "$dir/none"
TUTTI_BUILD=$TUTTI_BUILDDIR refuses 1 'unset TUTTI_BUILD' quickstart cuda --toolkit "$dir/toolkit"
starpu_cuda() { "$TUTTI_SRCDIR/install/starpu_cuda.sh" "$@" > "$dir/out" 2>&1; }
starpu_cuda "$dir/prefix" "$dir/nothing" && fail "a folder without nvcc is a toolkit"
starpu_cuda "$dir/prefix" "$dir/toolkit" "$dir/empty.tar" && fail "another archive is StarPU's"
grep -q "empty.tar: its SHA-256 is not that of starpu_1.3.10" "$dir/out" || { fail "no word of the archive"; cat "$dir/out"; }
[ ! -e "$dir/prefix" ] || fail "something was installed"
# An apt that has found no package: it may have had no network, too.
mkdir "$dir/apt"
printf '#!/bin/sh\nexit 0\n' | tee "$dir/apt/apt-get" "$dir/apt/dpkg-query" "$dir/apt/sudo" > "$dir/apt/apt-cache"
sed -i 's/0/1/' "$dir/apt/apt-cache"
chmod +x "$dir/apt/"*
PATH=$dir/apt:$PATH refuses 1 'apt knows no package of StarPU .*: this release has none, or apt-get update could not reach' quickstart build
# Designs of ./quickstart train.
TUTTI_BUILD=$TUTTI_BUILDDIR quickstart train concurrent sequential && fail "train takes any design"
grep -q '^quickstart: sequential is no design that overlaps; there are: .*concurrent' "$dir/out" || { fail "no word of the design"; cat "$dir/out"; }
finish
