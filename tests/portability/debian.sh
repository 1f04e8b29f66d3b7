#!/bin/bash
# The README's two commands on a fresh Debian:   debian.sh [-d FOLDER] RELEASE [COMMAND]...
# Makes RELEASE (bookworm, trixie) with debootstrap from the mirror that this machine's apt uses, copies the committed tree
# in, and runs each COMMAND (default: './quickstart train' './quickstart check') there. FOLDER is kept, and used again when
# it is there, with what was built in it of the same commit; without -d the system is made in $TMPDIR or /var/tmp, and removed.
# Exit status: 0; 1 when a command fails; 77 where this cannot be done, with the reason.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)

say() { printf 'debian.sh: %s\n' "$*" >&2; }
skip() { say "skipped: $*"; exit 77; }

# ---- inside: mounts and processes of this half belong to namespaces of its own and end with them, whatever happens ----

enter() { # ROOT COMMAND...
    local root=$1 command
    shift
    mount -t proc proc "$root/proc"
    mount --rbind --make-rslave /sys "$root/sys"
    mount --rbind --make-rslave /dev "$root/dev"
    for command; do
        say "$command"
        env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 VERBOSE=1 \
            "${passed_on[@]}" chroot "$root" sh -c "cd /root/tutti && $command" || { say "$command: status $?"; return 1; }
    done
}

passed_on=()
for name in http_proxy https_proxy no_proxy TUTTI_TEST_SLOWDOWN; do
    [ -z "${!name:-}" ] || passed_on+=("$name=${!name}")
done
if [ "${1:-}" = --inside ]; then
    shift
    enter "$@"
    exit
fi

# ---- outside ----

root=
while getopts d: option; do
    case $option in d) root=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { say "which release?"; exit 2; }
release=$1
shift
[ $# -gt 0 ] || set -- './quickstart train' './quickstart check'

[ "$(id -u)" = 0 ] || skip "making a Debian needs root"
command -v debootstrap > /dev/null || skip "there is no debootstrap: apt-get install debootstrap"
isolated=(unshare --mount --pid --fork --kill-child --propagation slave)
"${isolated[@]}" true 2> /dev/null || skip "no namespaces for mounts and processes here (a container without CAP_SYS_ADMIN?)"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 2> /dev/null | head -n 1)
[ -n "$mirror" ] || skip "apt knows no Debian mirror: is its list of sources Debian's, and has apt-get update been run?"

if [ -z "$root" ]; then
    root=$(mktemp -d "${TMPDIR:-/var/tmp}/tutti-$release.XXXXXX")
    # Nothing is mounted in this half, and a mount that were would be left alone.
    trap 'rm -rf --one-file-system -- "$root"' EXIT
    trap 'exit 1' HUP INT TERM
fi
mkdir -p "$root"
chmod 755 "$root" # tests become another user, who must come in
root=$(cd "$root" && pwd -P)

# debootstrap mounts, too.
if [ ! -e "$root/root/.made" ]; then
    say "debootstrap $release"
    "${isolated[@]}" --mount-proc debootstrap --variant=minbase "$release" "$root" "$mirror" > "$root.log" 2>&1 ||
        { tail -n 20 "$root.log" >&2; say "debootstrap failed"; exit 1; }
    rm -f "$root.log"
    # A system that is thrown away needs no file on the disk before the next, and nobody reads its pages.
    printf '%s\n' force-unsafe-io 'path-exclude=/usr/share/doc/*' 'path-exclude=/usr/share/locale/*' > "$root/etc/dpkg/dpkg.cfg.d/90thrown-away"
    touch "$root/root/.made"
fi

# How this machine reaches the mirror: names, proxies, certificates.
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
apt-config dump | grep '^Acquire::' | grep -v '^Acquire::IndexTargets' > "$root/etc/apt/apt.conf.d/90acquire" || true
mkdir -p "$root/etc/apt/auth.conf.d" "$root/etc/ssl/certs" "$root/usr/local/share/ca-certificates"
[ ! -d /etc/apt/auth.conf.d ] || cp -r /etc/apt/auth.conf.d/. "$root/etc/apt/auth.conf.d"
[ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs"
[ ! -d /usr/local/share/ca-certificates ] || cp -r /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates"

commit=$(git -C "$here" rev-parse HEAD)
if [ "$(cat "$root/root/.commit" 2> /dev/null)" != "$commit" ]; then
    rm -rf --one-file-system -- "$root/root/tutti"
    mkdir -p "$root/root/tutti"
    git -C "$here" archive HEAD | tar -x -C "$root/root/tutti"
    echo "$commit" > "$root/root/.commit"
fi

"${isolated[@]}" bash "$0" --inside "$root" "$@" < /dev/null
say "$release: passed"
