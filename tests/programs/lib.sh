# What the tests of programs share; sourced. They run under the guard, which has the deadline and the settings of MPI.
set -u
apps=${TUTTI_BUILDDIR:?}/apps
mpirun=${MPIRUN:-mpirun}
. "${TUTTI_SRCDIR:?}/apps/tools/launch.sh"
mpi=$(launch_kind "$mpirun")
dir=$(mktemp -d)
in_subshells=$dir/.failed # failures in subshells, whose count is lost; a test may change dir
trap 'rm -rf "$dir"' EXIT
failures=0

fail() { # SENTENCE...
    echo "FAILED: $*"
    failures=$((failures + 1))
    [ "$BASHPID" = $$ ] || echo "in a subshell: $*" >> "$in_subshells"
}

finish() {
    if [ -e "$in_subshells" ]; then
        cat "$in_subshells"
        failures=$((failures + 1))
    fi
    [ "$failures" = 0 ] || { echo "$failures failures"; exit 1; }
    exit 0
}

# names TABLE: what this build has, from its own tables: names designs; names overlapping (see tutti-info(1)).
# The choices of an option, from --help on standard input, each with a blank behind it; nothing where it takes no names.
choices() { # --OPTION
    awk -v option="$1" '/^  -/ { mine = $1 == option || $2 == option } mine { text = text " " $0 } END {
        gsub(/ +/, " ", text)
        if (!match(text, /\([^()]*\) *$/)) exit
        text = substr(text, RSTART + 1, RLENGTH - 2)
        sub(/\) *$/, "", text)
        sub(/[;)].*/, "", text)
        if (text !~ /^[a-z0-9][a-z0-9._-]*(, [a-z0-9][a-z0-9._-]*)+$/) exit
        gsub(/, /, " ", text)
        printf "%s ", text
    }'
}
names() { "$apps/tutti-info" --list "$1"; }

# Whether this build has TUTTI_FAULT (configure --disable-faults leaves it out).
has_faults() { "$apps/tutti-info" 2> /dev/null | grep '^  faults  .*' | grep -qv 'left out'; }

# For the tests, or the rest of one, that make a rank do wrong: skips where that cannot be.
needs_faults() {
    has_faults && return
    echo "skipped${1:+: $1}: this build was configured with --disable-faults"
    skip
}

# Ends a test that this machine cannot run and that has said why; one in which something has failed fails.
skip() {
    [ "$failures" = 0 ] && [ ! -e "$in_subshells" ] || finish
    exit 77
}

# cifar P OPTION...: tutti-cifar on P ranks; output in $dir/out, status returned.
cifar() {
    local ranks=$1
    shift
    "$mpirun" -np "$ranks" "$apps/tutti-cifar" "$@" > "$dir/out" 2>&1
}

# refuses STATUS TEXT COMMAND...: the command ends with the status and says what matches TEXT; output in $dir/out. One rank's word is
# enough; said_by_each=yes refuses...: the others get the time to say it, too.
refuses() {
    local wanted=$1 text=$2 status=0
    shift 2
    (
        [ -n "${said_by_each:-}" ] || launch_killing_at_once "$mpi"
        "$@"
    ) > "$dir/out" 2>&1 || status=$?
    [ $status = "$wanted" ] && grep -q -e "$text" "$dir/out" && return
    fail "status $status instead of $wanted, or no \"$text\": $*"
    cat "$dir/out"
}

# refused TEXT P OPTION...: tutti-cifar refuses the options on P ranks, beside those that the test has in model.
refused() {
    local text=$1 ranks=$2
    shift 2
    refuses 2 "$text" cifar "$ranks" "${model[@]}" --steps 1 "$@"
}

# trains P OPTION...: as cifar, with --json $dir/json. When it fails the test ends: what follows would compare nothing with
# something, and report that as other weights.
trains() {
    cifar "$@" --quiet --json "$dir/json" && return
    fail "status $?: $*"
    cat "$dir/out"
    finish
}

# field NAME: of the summary of the last run, which must have it.
field() {
    local value
    value=$(sed -n 's/.*"event":"summary".*"'"$1"'":"\{0,1\}\([^,"}]*\).*/\1/p' "$dir/json" | tail -n 1)
    [ -n "$value" ] || fail "the summary has no $1" >&2
    echo "$value"
}

# is WHAT HASH: the last run ended with these weights.
is() {
    [ -n "$2" ] && [ "$(field weights_hash)" = "$2" ] || fail "$1: $(field weights_hash) instead of $2"
}

# A small CIFAR-10, always the same, with 30 test images.
make_cifar() { # FOLDER [IMAGES in each of the five training files: 40]
    mkdir -p "$1"
    perl -e 'my ($folder, $images) = @ARGV; srand 7;
        for my $name ((map { "data_batch_$_" } 1 .. 5), "test_batch") {
            open my $file, ">:raw", "$folder/$name.bin" or die;
            for my $i (1 .. ($name eq "test_batch" ? 30 : $images)) {
                my $label = int rand 10;
                print $file pack "C*", $label, map { int(20 * $label + rand 60) } 1 .. 3072;
            }
        }' "$1" "${2:-40}"
}

# Grey 8x8 JPEG files in two classes.
make_jpeg() { # FOLDER
    local class
    for class in a b; do
        mkdir -p "$1/train/$class" "$1/test/$class"
        perl -e 'binmode STDOUT; print pack "H*", $ARGV[0]' "$grey_jpeg" > "$1/train/$class/1.jpg"
        for name in train/$class/2 train/$class/3 test/$class/1; do cp "$1/train/$class/1.jpg" "$1/$name.jpg"; done
    done
}
grey_jpeg=ffd8ffe000104a46494600010100000100010000ffdb004300281c1e231e19282321232d2b28303c64413c37373c7b585d496491
grey_jpeg+=8099968f808c8aa0b4e6c3a0aadaad8a8cc8ffcbdaeef5ffffff9bc1fffffffaffe6fdfff8ffc0000b080008000801011100ffc4
grey_jpeg+=0014000100000000000000000000000000000003ffc40017100003010000000000000000000000000000030461ffda0008010100
grey_jpeg+=003f0034c987ffd9

# leaves_none PATTERN WHAT: no process whose command matches is left; mpirun may return a moment before its ranks have ended.
leaves_none() {
    local i
    for ((i = 0; i < 50 * ${TUTTI_TEST_SLOWDOWN:-1}; i++)); do
        pgrep -f "$1" > /dev/null || return 0
        sleep 0.1
    done
    fail "$2: a rank was left behind: $(pgrep -af "$1")"
}

# left_out WHAT WHY: a part of the test that this machine cannot run; tests/support/left_out.sh lists these lines.
left_out() {
    echo "left out: $1: $2"
}

# Whether this processor computes in bf16; if not, a part of the test is left out.
computes_bf16() {
    case $("$apps/tutti-info") in
    *"--precision bf16 is possible"*) return ;;
    *"--precision bf16 is refused"*) left_out "--precision bf16" "this processor has no instructions for bf16" ;;
    *) fail "tutti-info does not say whether --precision bf16 is possible" ;;
    esac
    return 1
}

# remake FROM TO CODE: a safetensors file changed by Perl: %m, its metadata; %t, its tensors by name, each {dtype, shape, data}.
remake() {
    perl -MJSON::PP -e 'my ($from, $to, $code) = @ARGV; open my $f, "<:raw", $from or die; local $/; my $all = <$f>;
        my $n = unpack "Q<", $all; my $h = decode_json(substr $all, 8, $n); my $body = substr $all, 8 + $n;
        our %m = %{delete $h->{__metadata__} || {}}; our %t; delete $m{data_xxh3};
        $t{$_} = {dtype => $h->{$_}{dtype}, shape => $h->{$_}{shape}, data => substr($body, $h->{$_}{data_offsets}[0],
            $h->{$_}{data_offsets}[1] - $h->{$_}{data_offsets}[0])} for keys %$h;
        eval "no strict; $code; 1" or die $@;
        my ($at, $out, %new) = (0, ""); $new{__metadata__} = \%m if %m;
        for (sort keys %t) { my $l = length $t{$_}{data}; $out .= $t{$_}{data};
            $new{$_} = {dtype => $t{$_}{dtype}, shape => $t{$_}{shape}, data_offsets => [$at, $at + $l]}; $at += $l }
        my $text = encode_json(\%new); open my $g, ">:raw", $to or die; print $g pack("Q<", length $text), $text, $out' "$@"
}
