#!/bin/bash
# Debian's packages, on the machine where it runs (a chroot of tests/portability/debian.sh: it installs packages):   package.sh
# Makes the archive of the release with its checksum, and from it and install/debian the packages; lintian finds nothing; they are
# installed, and their own tests (debian/tests: two ranks train, a StarPU program is compiled) pass; removed, they leave nothing. Then
# what can be told of the files for Spack and Apptainer without these.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
export DEBIAN_FRONTEND=noninteractive
say() { printf '\n== %s\n' "$*"; }
source=$PWD
version=$(sed -n 's/^AC_INIT(\[tutti\], \[\([0-9.]*\)\].*/\1/p' configure.ac)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
apt-get update -q > /dev/null
apt-get install -y -q --no-install-recommends autoconf automake debhelper dpkg-dev fakeroot libtool lintian python3 xz-utils > /dev/null

say "the archive"
mkdir "$work/needs" && cp -r install/debian "$work/needs/debian"
apt-get build-dep -y -q --no-install-recommends "$work/needs" > /dev/null
[ -x configure ] || ./autogen.sh > /dev/null 2>&1
mkdir "$work/build"
cd "$work/build"
"$source/configure" --quiet
make -s release
sha256sum -c "tutti-$version.tar.xz.sha256"
cp "tutti-$version.tar.xz" "$work/tutti_$version.orig.tar.xz"
tar -xf "tutti-$version.tar.xz" -C "$work"
cd "$work/tutti-$version"
cp -r install/debian debian

say "the packages"
DEB_BUILD_OPTIONS=parallel=$(nproc) dpkg-buildpackage -us -uc > "$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
cd ..
ls -l ./*.deb

say "lintian"
lintian --fail-on error,warning --suppress-tags bogus-mail-host,initial-upload-closes-no-bugs --allow-root ./*.changes

say "installed"
apt-get install -y -q --no-install-recommends ./*.deb gcc libc6-dev > /dev/null
ldconfig -p | grep -q 'libtutti.so.1 '
for test in trains attaches; do
    say "debian/tests/$test"
    AUTOPKGTEST_TMP=$(mktemp -d -p "$work") PATH=/usr/bin:/bin sh -c "cd '$work/tutti-$version' && exec debian/tests/$test"
done

say "removed"
apt-get purge -y -q tutti-tools libtutti-dev libtutti1 tutti-doc > /dev/null
left=$(find /usr -xdev -name '*tutti*' -not -path '/usr/src/*')
[ -z "$left" ] || { echo "left: $left"; exit 1; }
# What a machine without Spack and Apptainer can tell of their files: the recipe is Python that names every library that Debian's
# package is built with; the image's commands run.
say "install/spack, install/tutti.def"
python3 -m py_compile "$source/install/spack/packages/tutti/package.py"
for library in check elfutils jansson libjpeg-turbo libpng libwebp mpi onednn protobuf-c starpu xxhash zlib-api; do
    grep -q "depends_on(\"$library[@\"]" "$source/install/spack/packages/tutti/package.py" || { echo "the recipe for Spack does not name $library"; exit 1; }
done
grep -q "version(\"$version\")" "$source/install/spack/packages/tutti/package.py" || { echo "the recipe for Spack has another version"; exit 1; }
section() { sed -n "/^%$1\$/,/^%/p" "$source/install/tutti.def" | grep -v '^%'; }
rm -rf /opt/tutti
mkdir -p /opt/tutti
tar -xf "$work/tutti_$version.orig.tar.xz" -C /opt/tutti --strip-components=1
sh -ec "$(section post)" > "$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -ec "$(section environment)
$(section test)"

say "packages of $version: built, clean, installed, tested, removed"
