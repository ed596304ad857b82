#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory that fails, on the kernel that can let it: one allocation after the other on the
# way into mode 2, of a disk that comes and of the module's loading fails. Nothing has changed
# then, and the next try is as if nothing had happened.
. "$(dirname "$0")/lib.sh"

DEBUG=/sys/kernel/debug
# More than there are on any of the ways, so that an endless one is seen.
MOST=400

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
		echo "0x${leaks[0]}" >$DEBUG/$kind/reject-start
		echo "0x${leaks[1]}" >$DEBUG/$kind/reject-end
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
# TRY has had all, of which there are at least LEAST. Of those after the first 40, which are
# the files of one device after the other, some.
each_fails() {
	trap 'echo "after allocation $nth failed, with status $status"' EXIT
	for ((nth = 1; nth <= MOST; nth += nth < 40 ? 1 : 13)); do
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

into_mode_2() {
	echo 2 >"$(sysfs "$tested")/blkacct/iostats"
}

# Either it is in mode 2 after all, or as before.
is_as_before() { # STATUS
	[ "$1" = 0 ] || same "mode" "$(mode "$tested")" "$before"
	[ "$1" != 0 ] || same "mode" "$(mode "$tested")" 2
	same "queue/iostats" "$(cat "$(sysfs "$tested")/queue/iostats")" "$(mode "$tested")"
	[ "$1" != 0 ] || mode "$tested" "$before"
}

# An account is made but once, so each try is with a new disk.
is_as_before_and_anew() { # STATUS
	is_as_before "$1"
	renew fresh
}

renew() { # NAME
	echo 0 >"/sys/kernel/config/nullb/$1/power"
	echo 1 >"/sys/kernel/config/nullb/$1/power"
}

mode_2_of_a_new_disk() {
	tested=fresh before=1
	each_fails 10 into_mode_2 is_as_before_and_anew
	counts_as_ever fresh
	hooks_are_gone
}

mode_2_from_0() {
	tested=fresh before=0
	mode fresh 0
	each_fails 3 into_mode_2 is_as_before
	counts_as_ever fresh
}

new_dm() {
	! dmsetup info linear >/dev/null 2>&1 || remove_dm linear
	add_dm linear "0 $(sectors under) linear /dev/under 0"
	tested=$dm
}

mode_2_of_a_new_bio_based_disk() {
	before=1
	new_dm
	each_fails 10 into_mode_2 bios_are_as_before_and_anew
	counts_as_ever "$tested"
	remove_dm linear
	hooks_are_gone
}

bios_are_as_before_and_anew() { # STATUS
	is_as_before "$1"
	new_dm
}

leave() {
	echo 1 >"$(sysfs fresh)/blkacct/iostats"
}

has_left() { # STATUS
	same "status" "$1" 0
	same "mode" "$(mode fresh)" 1
	mode fresh 2
}

# The other disk stays, so there is a table to be made anew.
leaving_mode_2_never_fails() {
	mode under 2
	mode fresh 2
	each_fails 1 leave has_left
	counts_as_ever fresh under
	mode under 1
}

read_all() {
	local file line
	for file in "$(sysfs fresh)"/blkacct/* "$(sysfs under)"/blkacct/*; do
		mapfile -t line <"$file" || return
	done
}

reading_takes_no_memory() {
	mode fresh 2
	read_blocks fresh 10
	each_fails 0 read_all false
}

come() {
	echo 1 >/sys/kernel/config/nullb/comes/power
}

# With all its files or with none; and gone, and there again.
came() { # STATUS
	same "status" "$1" 0
	has_files_or_none comes
	make_ready
}

has_files_or_none() { # DEVICE
	local directory
	directory=$(sysfs "$1")/blkacct
	[ ! -d "$directory" ] || same "files" "$(find "$directory/" -type f | wc -l)" 14
}

make_ready() {
	echo 0 >/sys/kernel/config/nullb/comes/power
}

a_disk_that_comes() {
	add_firm_null comes
	make_ready
	each_fails 20 come came
	come
	counts_as_ever comes
	remove_null comes
}

read_partitions() {
	exec blockdev --rereadpt /dev/fresh
}

# Without one of its partitions the disk would not count all, and so is not in mode 2.
has_partitions() { # STATUS
	same "status" "$1" 0
	has_files_or_none fresh1
	has_files_or_none fresh2
	if [ ! -d "$(sysfs fresh1)/blkacct" ] || [ ! -d "$(sysfs fresh2)/blkacct" ]; then
		same "mode" "$(mode fresh)" 1
		same "2" "$(errno_of "$(sysfs fresh)/blkacct/iostats" 2)" "Cannot allocate memory"
		blockdev --rereadpt /dev/fresh
		mode fresh 2
	fi
	same "mode" "$(mode fresh)" 2
}

partitions_that_come_to_a_disk_in_mode_2() {
	local -A was=() now=()
	partition fresh
	mode fresh 2
	each_fails 20 read_partitions has_partitions
	ours was fresh
	read_blocks fresh1 10
	read_blocks fresh2 10
	ours now fresh
	since now was
	counted now read.ios=20 read.sectors=160
	no_anomalies fresh fresh1 fresh2
}

load() {
	exec insmod "$MODULE"
}

loaded_or_not() { # STATUS
	[ "$1" = 0 ] || [ ! -d /sys/module/blkacct ]
	[ "$1" != 0 ] || rmmod blkacct
	same "hooks" "$(grep -c blkacct /sys/kernel/tracing/enabled_functions || :)" 0
	same "directories" "$(find -L /sys/block -maxdepth 3 -name blkacct 2>/dev/null | wc -l)" 0
}

loading() {
	local start end
	read -r start end <<<"$(addresses do_one_initcall)"
	unload_module
	fail_within "$start" "$end"
	each_fails 20 load loaded_or_not
	counts_as_ever fresh
	fail_within_module
}

clean_up() {
	remove_dm linear 2>/dev/null
	remove_null fresh under comes
	unload_module
}

load_module
add_firm_null under
add_firm_null fresh memory_backed=1
fail_within_module
ktap_print_header
ktap_set_plan 9
ktap_test_result mode_2_of_a_new_disk mode_2_of_a_new_disk
ktap_test_result mode_2_from_0 mode_2_from_0
ktap_test_result mode_2_of_a_new_bio_based_disk mode_2_of_a_new_bio_based_disk
ktap_test_result leaving_mode_2_never_fails leaving_mode_2_never_fails
ktap_test_result reading_takes_no_memory reading_takes_no_memory
ktap_test_result a_disk_that_comes a_disk_that_comes
ktap_test_result partitions_that_come_to_a_disk_in_mode_2 partitions_that_come_to_a_disk_in_mode_2
ktap_test_result loading loading
clean_up
ktap_test_result nothing_is_left_behind no_leaks
ktap_finished
