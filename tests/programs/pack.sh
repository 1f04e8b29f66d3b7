#!/bin/bash
# tutti-pack: the same bytes on any number of threads and however often a run is killed; what is left out is listed; a training
# from shards is that from the folder; damage is found; what cannot go well is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"

# Photographs in three classes: PNGs of noise, which no compression makes small.
make_photographs() { # FOLDER TRAIN VAL: images per class
    perl -MCompress::Zlib -e 'my ($folder, @count) = @ARGV; srand 7; mkdir $folder or die;
        sub chunk { pack("N", length $_[1]) . $_[0] . $_[1] . pack("N", crc32($_[0] . $_[1])) }
        for my $split (0, 1) {
            my $name = ("train", "val")[$split];
            mkdir "$folder/$name" or die;
            for my $class ("ant", "bee and fly", "cow") {
                mkdir "$folder/$name/$class" or die;
                for my $i (1 .. $count[$split]) {
                    my ($w, $h) = (4 * (30 + int rand 20), 120 + int rand 80);
                    my $rows = join "", map { "\0" . pack "L*", map { int rand 2 ** 32 } 1 .. $w * 3 / 4 } 1 .. $h;
                    my $long = $i == 2 ? "long" x 40 : "";
                    open my $file, ">:raw", "$folder/$name/$class/a.$i$long.png" or die;
                    print $file "\x89PNG\r\n\x1a\n", chunk("IHDR", pack "NNCCCCC", $w, $h, 8, 2, 0, 0, 0),
                        chunk("IDAT", compress($rows, 0)), chunk("IEND", "");
                }
            }
        }' "$@"
}
pack() { "$apps/tutti-pack" "$@" > "$dir/out" 2> "$dir/err"; }
packs() { pack "$@" || { fail "status $?: $*"; cat "$dir/err"; }; }
# All files but those whose names end in .part or .lock.
same() { # FOLDER FOLDER
    diff -rq "$1" "$2" > "$dir/diff" && return
    fail "$1 and $2 differ"
    cat "$dir/diff"
}
checks() { # FILE...
    local file
    for file; do
        packs --check "$file"
        grep -q "^$file: [1-9][0-9]* images of [1-3] classes" "$dir/out" || { fail "--check $file"; cat "$dir/out"; }
        grep -q 'the checksum is right$' "$dir/out" || { fail "--check $file: the checksum"; cat "$dir/out"; }
    done
}

make_photographs "$dir/whole" 12 2
cp -r "$dir/whole" "$dir/from"
make_jpeg "$dir/jpeg"
cp "$dir/jpeg/train/a/1.jpg" "$dir/from/train/cow/grey.jpg"
head -c 150 "$dir/jpeg/train/a/1.jpg" > "$dir/from/train/ant/torn"$'\n'from.jpg
head -c 9000 "$dir/from/train/cow/a.1.png" > "$dir/from/train/cow/torn.png"
: > "$dir/from/val/cow/empty.jpg"

# The same bytes on any number of threads, in either format.
for format in webdataset recordio; do
    for threads in 1 2 7; do
        packs --from "$dir/from" --to "$dir/$format.$threads" --format $format --threads $threads --resize none --shard-mb 1
    done
    same "$dir/$format.1" "$dir/$format.2"
    same "$dir/$format.1" "$dir/$format.7"
    # once more: it says the same, and changes nothing
    touch -d 2001-02-03 "$dir/$format.1"/*
    stat -c '%n %i %Y' "$dir/$format.1"/* > "$dir/before"
    packs --from "$dir/from" --to "$dir/$format.1" --format $format --resize none --shard-mb 1
    stat -c '%n %i %Y' "$dir/$format.1"/* | diff "$dir/before" - || fail "a complete run changes files"
    same "$dir/$format.1" "$dir/$format.2"
    grep -q ': 3 damaged images were left out' "$dir/err" || { fail "the count of those left out"; cat "$dir/err"; }
    sort "$dir/$format.1/left-out.txt" | cut -d: -f 1,2 > "$dir/left"
    printf 'train: train/ant/torn?from.jpg\ntrain: train/cow/torn.png\nval: val/cow/empty.jpg\n' | diff "$dir/left" - || fail "left-out.txt"
    printf 'ant\nbee and fly\ncow\n' | diff - "$dir/$format.1/classes.txt" || fail "classes.txt"
done
shards=$(find "$dir/webdataset.1" -name 'train-00000?.tar' | wc -l)
[ "$shards" -ge 3 ] || { fail "$shards shards are too few to test with"; ls -l "$dir/webdataset.1"; }
[ -e "$dir/webdataset.1/val-000000.tar" ] || fail "no val-000000.tar"
for name in train.rec train.idx val.rec val.idx; do [ -e "$dir/recordio.1/$name" ] || fail "no $name"; done
checks "$dir"/webdataset.1/*.tar "$dir"/recordio.1/train.rec
packs --check "$dir/recordio.1/val.idx"
grep -q "^$dir/recordio.1/val.rec: 6 images of 3 classes (labels 0 to 2), .*, with an index; " "$dir/out" || { fail "an index"; cat "$dir/out"; }

# Every image once, with its own bytes; another seed is another order, and none is that of the folder.
for split in train val; do
    mkdir -p "$dir/unpacked/$split"
    for shard in "$dir/webdataset.1/$split"-*.tar; do tar -xf "$shard" -C "$dir/unpacked/$split" || fail "tar -x"; done
done
cat "$dir"/unpacked/*/*.cls | fold -w 1 | sort | uniq -c | tr -d ' \n' > "$dir/counts"
[ "$(cat "$dir/counts")" = 140141152 ] || { fail "labels"; cat "$dir/counts"; }
find "$dir/unpacked" -name '*.[jp][pn]g' -exec md5sum {} + | cut -d' ' -f 1 | sort > "$dir/ours"
find "$dir/from" -name '*.[jp][pn]g' ! -name 'torn*' ! -name 'empty*' -exec md5sum {} + | cut -d' ' -f 1 | sort | diff - "$dir/ours" ||
    fail "the shards have other images than the folder"
packs --from "$dir/from" --to "$dir/seed" --resize none --seed 2
packs --from "$dir/from" --to "$dir/noseed" --resize none --seed none
names() { tar -tf "$1/train-000000.tar" | grep -v 'cls$' | cut -d- -f 2- | tr '\n' ' '; }
[ "$(names "$dir/seed")" != "$(names "$dir/webdataset.1")" ] || fail "the seed makes no difference"
case $(names "$dir/noseed") in
"a_1.png a_10.png a_11.png a_12.png a_2long"*) ;;
*) fail "--seed none: $(names "$dir/noseed")" ;;
esac

# Resized: JPEGs whose shorter side is 64, and the small one as it is; less quality is less bytes.
packs --from "$dir/from" --to "$dir/small" --resize 64 --threads 2
packs --from "$dir/from" --to "$dir/poor" --resize 64 --quality 20 --threads 1
checks "$dir/small/train-000000.tar" "$dir/small/val-000000.tar"
mkdir "$dir/small/in" && tar -xf "$dir/small/train-000000.tar" -C "$dir/small/in"
cmp "$dir"/small/in/*-grey.jpg "$dir/from/train/cow/grey.jpg" || fail "a small image was not copied"
perl -e 'for my $name (@ARGV) { next if $name =~ /grey/; open my $f, "<:raw", $name; local $/; my $jpeg = <$f>;
    $jpeg =~ /\xff\xc0..\x08(..)(..)/s or die "$name is no JPEG\n"; my ($h, $w) = (unpack("n", $1), unpack("n", $2));
    die "$name is $w x $h\n" if ($w < $h ? $w : $h) != 64 }' "$dir"/small/in/*.jpg || fail "sizes"
[ "$(stat -c %s "$dir/poor/train-000000.tar")" -lt "$(stat -c %s "$dir/small/train-000000.tar")" ] || fail "the quality makes no difference"

# Killed, and gone on with, as often as it takes: the same bytes.
for format in webdataset recordio; do
    went_on=0
    for round in 1 2 3 4 5 6 7 8 9 10; do
        rm -rf "$dir/killed"
        "$apps/tutti-pack" --from "$dir/from" --to "$dir/killed" --format $format --threads 1 --resize none --shard-mb 1 2> "$dir/err" &
        child=$!
        while kill -0 $child 2> /dev/null; do
            grep -qs '^at train [1-9]' "$dir/killed/tutti-pack.txt" && break
        done
        [ $((round % 2)) = 0 ] && signal=TERM || signal=KILL
        kill -$signal $child 2> /dev/null
        wait $child 2> /dev/null
        status=$?
        [ $status != 143 ] || grep -q 'SIGTERM: the same command continues' "$dir/err" || { fail "SIGTERM"; cat "$dir/err"; }
        [ $status = 0 ] || [ $status = 137 ] || [ $status = 143 ] || { fail "killed: status $status"; cat "$dir/err"; }
        packs --from "$dir/from" --to "$dir/killed" --format $format --threads 2 --resize none --shard-mb 1
        grep -q 'continues at image [1-9][0-9]* of train' "$dir/err" && went_on=$((went_on + 1))
        same "$dir/killed" "$dir/$format.1"
        [ $went_on -lt 2 ] || break
    done
    [ $went_on -ge 1 ] || fail "$format: no run was interrupted in ten rounds"
done

# A full disk: the shard has no final name, nothing else stays behind, and the run goes on when there is room.
for format in webdataset recordio; do
    (trap '' XFSZ; ulimit -f 600; pack --from "$dir/from" --to "$dir/full" --format $format --resize none --shard-mb 1; exit $?)
    status=$?
    [ $status = 1 ] && grep -q 'could not be saved: File too large' "$dir/err" || { fail "a full disk: status $status"; cat "$dir/err"; }
    [ -z "$(find "$dir/full" -name '*.tar*' -o -name '*.rec' -o -name '*.lock')" ] || { fail "a full disk leaves files"; ls "$dir/full"; }
    packs --from "$dir/from" --to "$dir/full" --format $format --resize none --shard-mb 1
    same "$dir/full" "$dir/$format.1"
    rm -r "$dir/full"
done

# A disk that is full only when the last records or their index are synced: the run goes on, too.
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}:verify_asan_link_order=0" # the full disk is loaded before it
for name in rec idx; do
    bytes=$(stat -c %s "$dir/recordio.1/train.$name")
    LD_PRELOAD=$TUTTI_BUILDDIR/tests/programs/.libs/full_disk.so FULL_DISK_NAME=train.$name.part FULL_DISK_BYTES=$((bytes - 1)) refuses 1 \
        "train.$name could not be saved: No space left" "$apps/tutti-pack" --from "$dir/from" --to "$dir/full" --format recordio --resize none --shard-mb 1
    grep -q '^at train [1-9]' "$dir/full/tutti-pack.txt" || { fail "a full disk at the end: nothing was synced before"; cat "$dir/full/tutti-pack.txt"; }
    packs --from "$dir/from" --to "$dir/full" --format recordio --resize none --shard-mb 1
    same "$dir/full" "$dir/recordio.1"
    rm -r "$dir/full"
done

# One run at a time.
"$apps/tutti-pack" --from "$dir/from" --to "$dir/both" --threads 1 2> "$dir/first" &
child=$!
while kill -0 $child 2> /dev/null && [ ! -e "$dir/both/tutti-pack.txt.lock" ]; do :; done
kill -STOP $child
if [ -e "$dir/both/tutti-pack.txt.lock" ]; then
    refuses 1 'another run is writing it' "$apps/tutti-pack" --from "$dir/from" --to "$dir/both"
else
    echo "left out: two runs at a time, because the first was too fast"
fi
kill -CONT $child
wait $child || { fail "the first of two runs: status $?"; cat "$dir/first"; }

# What is refused.
refuses 2 'had --quality 90, this one has 80' "$apps/tutti-pack" --from "$dir/from" --to "$dir/small" --resize 64 --quality 80
touch "$dir/from/train/ant/a.1.png"
refuses 1 'the images of --from have changed' "$apps/tutti-pack" --from "$dir/from" --to "$dir/small" --resize 64
# A folder for each class, without train/ and val/: every photograph counts, however deep; its shards would be a class.
classes=$dir/classes
cp -r "$dir/whole/train" "$classes"
mkdir -p "$classes/cow/1/2/3/4/5/6"
mv "$classes/cow/a.3.png" "$classes/cow/1/2/3/4/5/6"
ln -s nowhere "$classes/ant/link.png"
refuses 2 'is in --from, where each folder is a class' "$apps/tutti-pack" --from "$classes" --to "$classes/../classes/out"
[ ! -e "$classes/out" ] || fail "a folder that is refused is made"
packs --from "$classes" --to "$dir/by_class"
packs --from "$classes" --to "$dir/by_class"
grep -q ': 36 images are packed' "$dir/err" || { fail "a folder for each class"; cat "$dir/err"; }
changes() { refuses 1 'the images of --from have changed' "$apps/tutti-pack" --from "$classes" --to "$dir/by_class"; }
cp "$classes/ant/a.1.png" "$classes/ant/new.png"
changes
rm "$classes/ant/new.png"
packs --from "$classes" --to "$dir/by_class"
mv "$classes/ant/a.1.png" "$classes/ant/a.0.png"
changes
mv "$classes/ant/a.0.png" "$classes/ant/a.1.png"
touch "$classes/cow/1/2/3/4/5/6/a.3.png"
changes

refuses 2 'holds train, and no tutti-pack.txt' "$apps/tutti-pack" --from "$dir/from" --to "$dir/whole"
refuses 2 'is --from: give another folder' "$apps/tutti-pack" --from "$dir/from" --to "$dir/from"
refuses 1 'cannot create the folder' "$apps/tutti-pack" --from "$dir/from" --to "$dir/none/out"
refuses 1 'cannot find the data folder' "$apps/tutti-pack" --from "$dir/none" --to "$dir/out2"
[ ! -e "$dir/out2" ] || fail "a run without images makes a folder"
refuses 2 '--to OUT is missing' "$apps/tutti-pack" --from "$dir/from"
refuses 2 '--from DIR is missing' "$apps/tutti-pack" --to "$dir/out2"
refuses 2 'cannot be given together' "$apps/tutti-pack" --check "$dir/x" --to "$dir/out2"
make_cifar "$dir/cifar"
refuses 2 'only photographs are resized' "$apps/tutti-pack" --from "$dir/cifar" --to "$dir/out2"
if [ "$(id -u)" != 0 ]; then
    mkdir -m 555 "$dir/fixed"
    refuses 1 'Permission denied' "$apps/tutti-pack" --from "$dir/from" --to "$dir/fixed"
fi

# Damage: a truncated shard, and a byte that has changed, wherever it is.
for shard in "$dir/webdataset.1/train-000001.tar" "$dir/recordio.1/train.rec"; do
    bytes=$(stat -c %s "$shard")
    cp "$shard" "$dir/kept"
    for cut in 1 700 $((bytes / 2)) $((bytes - 100)) $((bytes - 1)); do
        head -c $cut "$dir/kept" > "$shard"
        refuses 1 "$shard: byte " "$apps/tutti-pack" --check "$shard"
    done
    for at in 5 600 $((bytes / 3)) $((bytes / 2)) $((bytes - 700)); do
        cp "$dir/kept" "$shard"
        perl -e 'open my $f, "+<:raw", $ARGV[0]; seek $f, $ARGV[1], 0; read $f, my $c, 1; seek $f, $ARGV[1], 0; print $f chr(ord($c) ^ 16)' \
            "$shard" $at
        refuses 1 "$shard: byte " "$apps/tutti-pack" --check "$shard"
    done
    cp "$dir/kept" "$shard"
    checks "$shard"
done
refuses 1 'No such file' "$apps/tutti-pack" --check "$dir/none.tar"

# A training from shards is that from the folder where the images have their order; the checkpoint has the classes' names.
common=(--model mlp --size 32 --batch 4 --steps 12 --lr 0.01 --eval-every end --augment standard)
packs --from "$dir/whole" --to "$dir/tar" --resize none --seed none
packs --from "$dir/whole" --to "$dir/rec" --resize none --seed none --format recordio
for data in whole tar rec; do
    trains 1 --data "$dir/$data" "${common[@]}" --checkpoint "$dir/weights.$data"
    hash=$(field weights_hash)
    [ -n "$hash" ] && [ "$hash" = "${first:=$hash}" ] || fail "the weights from $data are $hash, those from the folder $first"
    grep -aq 'bee and fly' "$dir/weights.$data" || fail "$data: the checkpoint does not name the classes"
done
# Shards are packed again: every image has its label.
packs --from "$dir/tar" --to "$dir/again" --resize none --seed none --format recordio
same "$dir/again/train.rec" "$dir/rec/train.rec"
same "$dir/again/classes.txt" "$dir/rec/classes.txt"

# Shards on disks of the ranks' own: each image on one rank, the same weights on any number of threads and after a stop.
packs --from "$dir/whole" --to "$dir/divided" --resize none --shard-mb 1
mkdir "$dir/inside"
tar -xf "$dir/divided/val-000000.tar" -C "$dir/inside"
(cd "$dir/inside" && tar -cf "$dir/divided/val-000001.tar" $(ls | tail -4) && tar -cf "$dir/divided/val-000000.tar" $(ls | head -8)) # of 12 files
local=(--data "$dir/divided" --shards local --model mlp --size 32 --batch 2 --lr 0.01 --eval-every end --augment crop --uncropped 0)
trains 2 "${local[@]}" --steps 9 --threads 3 --checkpoint "$dir/local"
hash=$(field weights_hash)
[ -n "$hash" ] || { fail "--shards local"; cat "$dir/out"; }
trained=$(grep -o '"train_images":[0-9]*' "$dir/json") tested=$(grep -o '"test_images":[0-9]*' "$dir/json")
trains 2 "${local[@]}" --steps 9 --stop-after 5 --checkpoint "$dir/part"
trains 2 "${local[@]}" --steps 9 --resume "$dir/part"
is "--shards local, resumed" "$hash"
trains 2 "${local[@]}" --steps 9 --shards shared
[ "$(field weights_hash)" != "$hash" ] || fail "--shards local reads what --shards shared does"
[ "$(grep -o '"train_images":[0-9]*' "$dir/json")$(grep -o '"test_images":[0-9]*' "$dir/json")" = "$trained$tested" ] || fail "--shards local has $trained, $tested"
trains 2 "${local[@]}" --steps 10 --shards shared --resume "$dir/local"
grep -q 'shards was local and is shared' "$dir/out" || fail "no warning about other shards"
cifar 2 "${local[@]}" --steps 9 --data "$dir/tar" && fail "a rank without a shard is accepted"
grep -q -- '--shards local: .* none is left for rank 1' "$dir/out" || { fail "no reason for a rank without a shard"; cat "$dir/out"; }
cifar 2 "${local[@]}" --steps 9 --data "$dir/rec" && fail "records are divided"
grep -q -- '--shards local: .* (recordio) is not in shards' "$dir/out" || { fail "no reason for records"; cat "$dir/out"; }
finish
