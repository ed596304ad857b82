#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory that fails: one allocation after the other on the way into mode 2, and of a disk or
# a partition that comes. Nothing has changed then, and the next try is as if nothing had
# happened.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/faulty.sh"

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
	eventually 10 hooks_are_gone
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
	[ ! -d "$directory" ] || same "files" "$(find "$directory/" -type f | wc -l)" 15
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
ktap_set_plan 8
ktap_test_result mode_2_of_a_new_disk mode_2_of_a_new_disk
ktap_test_result mode_2_from_0 mode_2_from_0
ktap_test_result mode_2_of_a_new_bio_based_disk mode_2_of_a_new_bio_based_disk
ktap_test_result leaving_mode_2_never_fails leaving_mode_2_never_fails
ktap_test_result reading_takes_no_memory reading_takes_no_memory
ktap_test_result a_disk_that_comes a_disk_that_comes
ktap_test_result partitions_that_come_to_a_disk_in_mode_2 partitions_that_come_to_a_disk_in_mode_2
clean_up
test_for_leaks
ktap_finished
