#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A kernel that lacks one of the functions or events that the module looks up by name: it is
# refused where there would be no exact count, and says what is missing. The other way
# round here: the kernel has them all, and a copy of the module looks for another name.
. "$(dirname "$0")/lib.sh"

changed=/tmp/blkacct_changed.ko

# looks_for_another NAME: makes a copy of the module that looks for NAME with its last
# letter changed.
looks_for_another() {
	LC_ALL=C sed "s/\x00$1\x00/\x00${1%?}X\x00/g" "$MODULE" >$changed
	same "letters changed for $1" "$(cmp -l "$MODULE" $changed | wc -l)" 1
}

lines_on() { # TEXT: in the kernel's log
	dmesg | grep -cF "$1" || :
}

nothing_is_there() {
	[ ! -d /sys/module/blkacct ]
	same "hooks" "$(grep -c blkacct /sys/kernel/tracing/enabled_functions || :)" 0
	same "directories" "$(find -L /sys/block -maxdepth 3 -name blkacct 2>/dev/null | wc -l)" 0
}

is_refused_without() { # EVENT
	local line="this kernel has no tracepoint ${1%?}X;" before
	looks_for_another "$1"
	before=$(lines_on "$line")
	same "loading without $1" "$(insmod $changed 2>/dev/null && echo taken || echo refused)" refused
	same "lines on $1" $(($(lines_on "$line") - before)) 1
	nothing_is_there
}

without_an_event_it_is_refused() {
	local event
	for event in block_io_start block_io_done block_rq_merge block_rq_error \
		block_rq_issue block_rq_requeue; do
		is_refused_without $event
	done
}

without_one_of_the_driver_it_counts_the_rest() {
	looks_for_another block_rq_issue
	insmod $changed device=0
	counts_as_ever disk
	rmmod blkacct
}

without_those_on_bios_only_their_disks_refuse() {
	local function
	for function in bdev_start_io_acct bdev_end_io_acct; do
		looks_for_another $function
		insmod $changed
		same "2 on $dm" "$(errno_of "$(sysfs "$dm")/blkacct/iostats" 2)" "Operation not supported"
		counts_as_ever disk
		hooks_are_gone
		rmmod blkacct
	done
}

without_the_kernels_file_our_own_remains() {
	local function
	for function in queue_iostats_show queue_iostats_store; do
		looks_for_another $function
		insmod $changed
		counts_as_ever disk
		same "the kernel's own file" "$(cat "$(sysfs disk)/queue/iostats")" 1
		rmmod blkacct
	done
}

without_the_statistics_they_stay_the_kernels() {
	local function
	for function in diskstats_show part_stat_show; do
		looks_for_another $function
		insmod $changed
		same "classic" "$(cat "$(sysfs disk)/blkacct/classic")" 0
		counts_as_ever disk
		rmmod blkacct
	done
}

clean_up() {
	unload_module
	dmsetup remove --force --noudevsync linear 2>/dev/null
	remove_null disk
	rm -f $changed
}

clean_up
modprobe -q dm-mod
add_null disk
add_dm linear "0 1024 linear /dev/disk 0"
ktap_print_header
ktap_set_plan 5
ktap_test_result without_an_event_it_is_refused without_an_event_it_is_refused
ktap_test_result without_one_of_the_driver_it_counts_the_rest without_one_of_the_driver_it_counts_the_rest
ktap_test_result without_those_on_bios_only_their_disks_refuse without_those_on_bios_only_their_disks_refuse
ktap_test_result without_the_kernels_file_our_own_remains without_the_kernels_file_our_own_remains
ktap_test_result without_the_statistics_they_stay_the_kernels without_the_statistics_they_stay_the_kernels
clean_up
ktap_finished
