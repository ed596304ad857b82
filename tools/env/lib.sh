# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the scripts of this directory share: where the cache is, how a step is
# shown, how an artefact comes to be. Sourced, never run.
#
# An artefact is a directory or file in the cache whose name ends in the hash of
# what it is made from. It is built under a temporary name and renamed when
# complete, so an interrupted build is never taken for a finished one.

set -euo pipefail

ENV_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$ENV_DIR/../.." && pwd)
CACHE=${BLKACCT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/blkacct}
SUITE=${BLKACCT_SUITE:-forky}
mkdir -p "$CACHE"
CACHE=$(cd "$CACHE" && pwd)

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# key FILE|STRING...: 12 hex digits that stand for the contents of the files and
# for the strings themselves.
key() {
	local each
	for each; do
		if [ -f "$each" ]; then cat "$each"; else echo "$each"; fi
	done | sha256sum | cut -c1-12
}

# step TITLE COMMAND...: runs COMMAND with its output in a log, shows the title,
# the time that passes and, if it fails, the log's end. The bound on a silent
# wait is 20 s: long steps say that they are alive.
step() {
	local title=$1 log pid rc=0 start=$SECONDS shown=0
	shift
	mkdir -p "$CACHE/log"
	log=$CACHE/log/$(date +%Y%m%d-%H%M%S)-$(echo "$title" | tr -cs 'A-Za-z0-9.' '-').log
	printf '[env] %s\n' "$title" >&2
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.2
		if [ $((SECONDS - start - shown)) -ge 20 ]; then
			shown=$((SECONDS - start))
			printf '[env]   %3d s: %s\n' "$shown" "$(tail -n 1 "$log" | cut -c1-100)" >&2
		fi
	done
	wait "$pid" || rc=$?
	if [ "$rc" -ne 0 ]; then
		tail -n 25 "$log" >&2
		die "$title: failed with status $rc; the whole log is $log"
	fi
	printf '[env]   done in %d s\n' $((SECONDS - start)) >&2
}

# artefact NAME BUILDER [ARG...]: prints the path of the artefact NAME; when it
# is missing, BUILDER is called with an empty directory to fill and the ARGs. One
# build of a name at a time.
artefact() {
	local name=$1 builder=$2 path=$CACHE/$1 tmp
	shift 2
	if [ ! -e "$path" ]; then
		exec 8>"$CACHE/.lock-$name"
		flock 8
		if [ ! -e "$path" ]; then
			tmp=$CACHE/tmp-$name
			remove_tree "$tmp"
			mkdir "$tmp"
			"$builder" "$tmp" "$@" >&2
			mv -T "$tmp" "$path"
		fi
		exec 8>&-
	fi
	echo "$path"
}

# patiently APT-GET...: runs an apt-get, and runs it again as long as it fails for a lock that
# another one has, for BLKACCT_APT_SECONDS (600) at most. An option of apt has it wait for dpkg's
# lock alone, not for that of the lists, or of what is downloaded.
patiently() {
	local said end=$((SECONDS + ${BLKACCT_APT_SECONDS:-600})) status=0
	said=$(mktemp)
	while :; do
		LC_ALL=C "$@" 2>&1 | tee "$said" && break
		if ! grep -qE 'Could not get lock|Unable to (lock|acquire)' "$said"; then
			status=1
			break
		fi
		if [ "$SECONDS" -ge "$end" ]; then
			echo "the lock was not free within ${BLKACCT_APT_SECONDS:-600} s (BLKACCT_APT_SECONDS)"
			status=1
			break
		fi
		echo "waiting for the apt that has the lock: $(sed -n 's/^E: Could not get lock //p' "$said")"
		sleep 1
	done
	rm -f "$said"
	return $status
}

# remove_tree DIR: removes an unfinished build; refuses while something is
# mounted inside, since it would be emptied too.
remove_tree() {
	[ -e "$1" ] || return 0
	if grep -qF " $1/" /proc/self/mountinfo; then
		die "something is mounted below $1; unmount it first (findmnt lists it)"
	fi
	as_owner rm -rf "$1"
}

# as_owner COMMAND...: runs COMMAND as the user that owns the build root's files:
# root itself, or root of a user namespace.
as_owner() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		unshare --user --map-auto --map-root-user "$@"
	fi
}

# kernel_dir NAME: prints the directory of a kernel, as tools/env/kernel does, which it
# calls. A name more is "stock-SUITE": the stock kernel of another suite than the guests'.
kernel_dir() {
	case $1 in
	stock-*) BLKACCT_SUITE=${1#stock-} "$ENV_DIR/kernel" stock ;;
	*) "$ENV_DIR/kernel" "$1" ;;
	esac
}

# toolchain CONFIG: prints the compilers of a kernel's configuration, as its make wants to be
# told; nothing if it does not say.
toolchain() {
	if grep -qx 'CONFIG_CC_IS_CLANG=y' "$1"; then
		echo LLVM=1
	else
		sed -n 's/^CONFIG_CC_VERSION_TEXT="\([^ ]*\) .*/CC=\1/p' "$1"
	fi
}
