# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Memory that fails where a test wants it, on the kernel that can let it. Sourced.

DEBUG=/sys/kernel/debug
# More than there are on any of the ways, so that an endless one is seen.
MOST=2000

# addresses SYMBOL: where a function of the kernel begins, and where the next one does.
addresses() {
	sort /proc/kallsyms | awk -v symbol="$1" '
		begin && $1 != begin { print begin, $1; exit }
		$3 == symbol && !begin { begin = $1 }'
}

# fail_within START END: allocations fail only in calls from this part of the kernel's text,
# and never those of the leak detector, which would give up.
fail_within() {
	local kind leaks
	read -ra leaks <<<"$(addresses __alloc_object)"
	for kind in failslab fail_page_alloc; do
		echo N >$DEBUG/$kind/ignore-gfp-wait
		echo 0 >$DEBUG/$kind/verbose
		echo 32 >$DEBUG/$kind/stacktrace-depth
		echo "0x$1" >$DEBUG/$kind/require-start
		echo "0x$2" >$DEBUG/$kind/require-end
		[ ${#leaks[@]} = 0 ] || echo "0x${leaks[0]}" >$DEBUG/$kind/reject-start
		[ ${#leaks[@]} = 0 ] || echo "0x${leaks[1]}" >$DEBUG/$kind/reject-end
	done
	echo 0 >$DEBUG/fail_page_alloc/min-order
	nowhere $DEBUG/fail_mempool_alloc
	nowhere $DEBUG/fail_mempool_alloc_bulk
}

# nowhere DIRECTORY: a kind of fault that is not to be taken for those of memory, which the
# nth would be: it is left to a place that is none.
nowhere() {
	echo 1 >"$1/require-start"
	echo 2 >"$1/require-end"
}

fail_within_module() {
	local text
	mapfile -t text < <(sed -nE 's/^(\w+) [tT] .*\[blkacct\]$/\1/p' /proc/kallsyms | sort)
	# To the end of the last one's page.
	fail_within "${text[0]}" "$(printf %x $(((0x${text[-1]} | 0xfff) + 1)))"
}

# add_firm_null NAME [ATTRIBUTE=VALUE...]: without faults of null_blk's own.
add_firm_null() {
	local directory
	add_null "$@"
	for directory in "/sys/kernel/config/nullb/$1"/*_inject; do
		nowhere "$directory"
	done
}

# each_fails LEAST TRY AFTER: calls TRY in a process of its own, again and again, each time
# with another one of its allocations failing, and AFTER with the status of each; until
# TRY has had all, of which there are at least LEAST. Of those after the first 25, which are
# the files of one device after the other, ever fewer.
each_fails() {
	trap 'echo "after allocation $nth failed, with status $status"' EXIT
	for ((nth = 1; nth <= MOST; nth += nth < 25 ? 1 : nth / 4)); do
		echo 2 | tee $DEBUG/fail{slab,_page_alloc}/times >/dev/null
		status=0
		(
			echo "$nth" >/proc/thread-self/fail-nth
			"$2"
		) 2>/dev/null || status=$?
		[ "$(cat $DEBUG/fail{slab,_page_alloc}/times | xargs)" != "2 2" ] || break
		"$3" "$status"
	done
	trap - EXIT
	echo "at most $((nth - 1)) allocations of $2"
	within "allocations" $((nth - 1)) "$1" $((MOST - 1))
	[ "$status" = 0 ]
}
