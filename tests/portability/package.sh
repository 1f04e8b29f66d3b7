#!/bin/bash
# Debian's packages, on the machine where it runs (a chroot of tests/portability/debian.sh: it installs packages):   package.sh
# Makes the archive of the release with its checksum, and from it and install/debian the packages; lintian finds nothing; they are
# installed, and their own tests (debian/tests: two ranks train, a StarPU program is compiled) pass; removed, they leave nothing.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
export DEBIAN_FRONTEND=noninteractive
say() { printf '\n== %s\n' "$*"; }
apt-get install -y -q --no-install-recommends debhelper dpkg-dev lintian fakeroot xz-utils > /dev/null
[ -e build/Makefile ] || ./quickstart build

say "the archive"
make -s -C build release
version=$(sed -n 's/^AC_INIT(\[tutti\], \[\([0-9.]*\)\].*/\1/p' configure.ac)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd build && sha256sum -c "tutti-$version.tar.xz.sha256")
cp "build/tutti-$version.tar.xz" "$work/tutti_$version.orig.tar.xz"
tar -xf "build/tutti-$version.tar.xz" -C "$work"
cd "$work/tutti-$version"
cp -r install/debian debian

say "the packages"
apt-get build-dep -y -q --no-install-recommends . > /dev/null
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
say "packages of $version: built, clean, installed, tested, removed"
