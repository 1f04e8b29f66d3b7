#!/bin/bash
# The library as other people meet it: installed, and built on with the lines of doc/starpu.md, as they stand there
# (README.md and the manual have no others), in C, C++ and CMake; documents, manual pages and tutti.pc are where they
# should be; the manual's examples compile, run, and name every function; a program of the days of 0.1 gets a sentence.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
here=$TUTTI_SRCDIR/tests/install page=$TUTTI_SRCDIR/doc/starpu.md
if nm -D "$TUTTI_BUILDDIR/.libs/libtutti.so" | grep -q '__asan\|__tsan\|__ubsan'; then
    echo "skipped: this library is built for a sanitizer, which the programs of others are not"
    exit 77
fi
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR
export HOME=$dir # the pages install into $HOME/tutti
prefix=$HOME/tutti
cd "$dir" && ln -s "$TUTTI_BUILDDIR" build || exit 1

# The commands of a page: indented lines, without the backslashes of a manual.
commands() { sed -n 's/^    //p' "$1" | sed 's/\\-/-/g'; }
one() { # PATTERN: the one command of doc/starpu.md that begins so
    local found
    found=$(commands "$page" | grep -E "^$1")
    [ "$(grep -c . <<< "$found")" = 1 ] || fail "doc/starpu.md has not one line that begins with $1, but: $found" >&2
    echo "$found"
}
# try WHAT LINE: runs a line of the page; output in $dir/said.
try() {
    local status=0
    bash -e -c "$paths
$2" > "$dir/said" 2>&1 || status=$?
    [ $status = 0 ] || { fail "$1: status $status: $2"; cat "$dir/said"; }
}
says() { grep -qE -e "$1" "$dir/said" || { fail "nothing says: $1"; cat "$dir/said"; }; }

# ---- the pages agree
exports=$(commands "$page" | grep '^export ')
for line in "$(one 'cc ')" "$(one 'make -C build install')" "$exports" "$(one 'tutti-run -n 2 ./my_program')"; do
    [ -n "$line" ] || fail "doc/starpu.md has lost a line"
    commands "$TUTTI_SRCDIR/README.md" | tr '\n' ' ' | grep -qF -- "$(tr '\n' ' ' <<< "$line")" ||
        fail "README.md builds programs in another way than doc/starpu.md: no line \"$line\""
done
sed 's/\\-/-/g' "$TUTTI_SRCDIR/doc/tutti-starpu.3" | grep -qxF -- "$(one 'cc ')" ||
    fail "doc/tutti-starpu.3 builds programs in another way"

# ---- installed
paths=
try 'make install' "$(one 'make -C build install')"
paths=$exports
make -s -C build install DESTDIR="$dir/stage" prefix=/opt/tutti > "$dir/said" 2>&1 ||
    { fail "DESTDIR"; cat "$dir/said"; }
diff <(cd "$prefix" && find . | sort) <(cd "$dir/stage/opt/tutti" && find . | sort) ||
    fail "DESTDIR (>) and prefix (<) install different files"
[ "$(ls "$dir/stage")" = opt ] || fail "with DESTDIR something goes elsewhere: $(ls "$dir/stage")"
grep -rIl "$dir" "$dir/stage" && fail "files in DESTDIR name it"
grep -q '^prefix=/opt/tutti$' "$dir/stage/opt/tutti/lib/pkgconfig/tutti.pc" ||
    fail "tutti.pc does not follow the prefix of make install"
for library in libdnnl libgomp libjpeg libpng libjansson; do # by itself: StarPU 1.4 needs libgomp
    objdump -p "$prefix/lib/libtutti.so" | grep -q "NEEDED *$library" && fail "libtutti needs $library"
done
objdump -p "$prefix/lib/libtutti.so" | grep -q 'NEEDED *libstarpu' || fail "libtutti does not need StarPU: is it looked at?"
for file in README.md NEWS doc/starpu.md doc/designs.md apps/example/groups.c apps/example/layers.c apps/example/ring.c apps/example/sample_sort.c apps/example/survivors.c apps/example/sgd_parallel.c \
    apps/example/sgd_sequential.c; do
    [ -s "$prefix/share/doc/tutti/$file" ] || fail "$file is not installed"
done
for program in "$prefix"/bin/*; do
    [ "$(readlink -f "$prefix/share/bash-completion/completions/${program##*/}")" = "$prefix/share/bash-completion/completions/tutti-run" ] ||
        fail "no completion of ${program##*/} in bash is installed"
done
[ -s "$prefix/share/zsh/site-functions/_tutti" ] || fail "no completion in zsh is installed"
for header in "$prefix"/include/tutti/*.h; do
    grep -q '^/\* SPDX-License-Identifier: BSD-3-Clause \*/$' "$header" || fail "$header does not say its licence"
done
# Every function of the headers has a page by its name.
functions=$(cat "$prefix"/include/tutti/*.h | tr '\n' ' ' | grep -oE '(TUTTI_API|static inline) [^;(]*\(' |
    grep -oE 'tutti_[a-z0-9_]+\($' | tr -d '(')
[ "$(wc -w <<< "$functions")" -gt 12 ] || fail "which functions are there? $functions"
page_of() { case $1 in tutti_kv_*) echo tutti-kv.3 ;; *) echo tutti-starpu.3 ;; esac; }
for name in $functions; do
    if command -v man > /dev/null; then
        found=$(PATH=$prefix/bin:$PATH man -w "$name" 2>&1)
        [ "$found" = "$prefix/share/man/man3/$(page_of "$name")" ] || fail "man $name finds: $found"
    else
        found=$(sed 's/^\.so //' "$prefix/share/man/man3/$name.3")
        [ -n "$found" ] && [ -s "$prefix/share/man/$found" ] || fail "no manual page of $name"
    fi
done

# ---- C: the example, outside of the tree
cp "$prefix/share/doc/tutti/apps/example/sgd_parallel.c" my_program.c
try C "$(one 'cc ')"
ranks=$(one 'tutti-run -n 2 ./my_program')
try 'C on 1 rank' "${ranks/-n 2/-n 1}" # StarPU measures the machine once; two at a time meet in its files
try 'C on 2 ranks' "$ranks"
says '^w0 -3.5'

# ---- C++, without the C++ bindings of MPI
cp "$here/my_program.cc" .
try C++ "$(one 'c\+\+ ')"
ldd my_program | grep -q 'mpi_cxx\|mpichcxx' && fail "C++: needs MPI's C++ bindings"
try 'C++ on 2 ranks' "$(one 'tutti-run -n 2 ./my_program')"
says 'C\+\+ with Tutti .*: right'

# ---- CMake
if command -v cmake > /dev/null; then
    sed -n '/^```cmake/,/^```/p' "$page" | grep -v '^```' > CMakeLists.txt
    try CMake "$(one 'cmake ')"
    try 'CMake on 2 ranks' "$(one 'tutti-run -n 2 out/my_program')"
    says '^w0 -3.5'
    # A release of other interfaces is not taken.
    mkdir -p other && cp my_program.c other
    sed 's/find_package(tutti [0-9.]*/find_package(tutti 0.1/' CMakeLists.txt > other/CMakeLists.txt
    bash -c "$paths
cmake -S other -B other/out" > "$dir/said" 2>&1 && fail "CMake takes this Tutti for 0.1"
    says 'not compatible|version: 0\.[0-9]'
else
    left_out CMake "cmake is not installed"
fi

# ---- the examples of the manual, in which every function occurs
manual=$prefix/share/man/man3
examples() { # KIND [PAGE]
    sed -n "/^\.\\\\\" example: $1\$/,/^\.EE/p" "$manual/${2:-tutti-starpu.3}" | grep -v '^\.' | sed 's/\\-/-/g; s/\\e/\\/g'
}
for kind in program function fragment; do examples $kind; done > all_examples
examples program tutti-kv.3 >> all_examples
for name in $functions; do
    grep -qw "$name" all_examples || fail "no example in doc/$(page_of "$name") has $name"
done
examples program tutti-kv.3 > my_program.c
try 'the example of tutti-kv' "$(one 'cc ')"
try 'the example of tutti-kv on 3 ranks' "${ranks/-n 2/-n 3}"
says '^worker 1 of 2, client 1 of 2: -2.5$'
examples program > my_program.c
try 'the example of the manual' "$(one 'cc ')"
try 'the example of the manual on 2 ranks' "$ranks"
says '^rank 1: the sum is 2$'
examples function > functions.h
examples fragment > fragments.h
cp "$here/fragments.c" my_program.c
try 'the fragments of the manual' "$(one 'cc ') -lm"
try 'the fragments of the manual on 2 ranks' "$ranks"
says '^rank 1 is the slowest: 2 s$'
says '^Tutti .*; an element of type C64 has 8 bytes$'

# ---- a program of the days of 0.1
flags=$(bash -c "$paths
pkg-config --cflags --libs tutti")
launch() { bash -c "$paths
LD_LIBRARY_PATH=$1:\$LD_LIBRARY_PATH tutti-run -n 1 ./$2 $3" > "$dir/said" 2>&1; }
old_is_refused() { # WHAT PROGRAM FOLDER
    local options
    for options in '' options; do
        launch "$3" "$2" "$options" && fail "$1: status 0"
        says 'tutti_attach: this program was compiled with the headers of Tutti 0\.1, .*: compile it again'
        says '^tutti_attach: unsupported|^tutti_attach: ' # the program goes on to its own end
        grep -qiE 'signal [0-9]|segmentation' "$dir/said" && { fail "$1: a crash"; cat "$dir/said"; }
    done
}
# shellcheck disable=SC2086
cc -I "$here/0.1" "$here/0.1/program.c" $flags -o old_source || fail "the header of 0.1 cannot be compiled against"
old_is_refused "0.1's header, this library" old_source /nowhere
# Its binary, which asks for libtutti.so.0.
mkdir -p zero forced
cc -shared -fPIC -Wl,-soname,libtutti.so.0 -o zero/libtutti.so.0 "$here/0.1/stub.c" || fail "stub.c"
# shellcheck disable=SC2086
cc -I "$here/0.1" "$here/0.1/program.c" zero/libtutti.so.0 ${flags//-ltutti /} -o old_binary || fail "the binary of 0.1"
launch /nowhere old_binary '' && fail "a binary of 0.1 runs without its library"
says 'libtutti\.so\.0: cannot open shared object file'
ln -s "$prefix/lib/libtutti.so" forced/libtutti.so.0
old_is_refused "a binary of 0.1 with this library by force" old_binary "$dir/forced"

# ---- and gone again
make -s -C build uninstall prefix="$prefix" > "$dir/said" 2>&1 || { fail "make uninstall"; cat "$dir/said"; }
[ -z "$(ls -A "$prefix")" ] || fail "make uninstall leaves: $(find "$prefix")"
# Where the prefix is everybody's, only folders of Tutti's own go.
make -s -C build install DESTDIR="$dir/common" prefix=/usr > "$dir/said" 2>&1 || fail "make install prefix=/usr"
make -s -C build uninstall DESTDIR="$dir/common" prefix=/usr > "$dir/said" 2>&1 || { fail "make uninstall"; cat "$dir/said"; }
left=$(cd "$dir/common" && find . ! -type d -o -name '*tutti*')
[ -z "$left" ] && [ -d "$dir/common/usr/bin" ] || fail "make uninstall with /usr leaves: $left; it removes bin: $(ls "$dir/common/usr")"
finish
