#!/bin/sh
# Makes ./configure from configure.ac; needed once after a checkout from git.
set -eu
cd "$(dirname "$0")"
for tool in autoreconf automake libtoolize pkg-config; do
    command -v "$tool" >/dev/null || {
        echo "autogen.sh: $tool is missing: apt-get install autoconf automake libtool pkg-config" >&2
        exit 1
    }
done
autoreconf --install --force --warnings=all,no-obsolete
