#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Loading and unloading: every disk has its files, before and after; no probe is
# attached while no disk is in mode 2; nothing is left behind.
. "$(dirname "$0")/lib.sh"

# Where our three tracepoints are, as probes.py wants it.
mapfile -t tracepoints <<<"$(
	sed -nE 's/^(\w+) . __tracepoint_(block_(io_start|io_done|rq_merge))$/\2=\1/p' /proc/kallsyms
)"

probes() { # how many of them are on
	"$GUEST_DIR/probes.py" "${tracepoints[@]}" | grep -c 1 || :
}

has_files() { # DEVICE
	local directory
	directory=$(sysfs "$1")/blkacct
	same "$1 files" "$(cd "$directory" && stat -c '%n %a' -- * | xargs)" \
		"anomalies 444 classic 444 counted_ns 444 in_flight 444 iostats $2$(
			printf ' latency_%s 444' discard drv_in drv_out flush read write write_zeroes \
				zone_append zone_mgmt
		) stat 444"
	same "$1 mode" "$(mode "$1")" 1
	same "$1 numbers in stat" "$(wc -w <"$directory/stat")" 54
}

disks_that_are_there_have_files() {
	add_null early memory_backed=1
	partition early
	load_module
	has_files early 644
	has_files early1 444
}

disks_that_come_later_have_files() {
	add_null late memory_backed=1
	partition late
	has_files late 644
	has_files late1 444
}

files_go_with_the_device() {
	sfdisk -q --delete /dev/late 1
	[ ! -d "$(sysfs late1)" ]
	has_files late 644
	remove_null late
	[ ! -d "$(sysfs late)" ]
	add_null late memory_backed=1
	partition late
	has_files late1 444
}

probes_are_attached_in_mode_2_only() {
	same "tracepoints" "${#tracepoints[@]}" 3
	same "probes when loaded" "$(probes)" 0
	mode early 2
	same "probes with one disk in mode 2" "$(probes)" 3
	mode late 2
	mode early 1
	same "probes with the other disk in mode 2" "$(probes)" 3
	mode late 0
	same "probes with no disk in mode 2" "$(probes)" 0
	mode late 2
	remove_null late
	# The last disk in mode 2 is gone; the probes go after it.
	eventually 10 no_probe
}

no_probe() {
	[ "$(probes)" = 0 ]
}

unloading_leaves_nothing() {
	mode early 2
	read_blocks early 10
	rmmod blkacct
	same "directories" "$(find -L /sys/block -maxdepth 3 -name blkacct 2>/dev/null | wc -l)" 0
	[ ! -d /sys/module/blkacct ]
	same "symbols" "$(grep -c '\[blkacct\]' /proc/kallsyms)" 0
	same "probes" "$(probes)" 0
	same "the kernel's iostats" "$(cat "$(sysfs early)/queue/iostats")" 1
	read_blocks early 10
}

loading_again_starts_anew() {
	local -A now=()
	load_module
	has_files early 644
	ours now early
	counted now
	same "io_ticks" "${now[io_ticks]}" 0
	mode early 2
	read_blocks early 10
	ours now early
	counted now read.ios=10 read.sectors=80
}

loads_and_unloads_10_times() {
	local round
	for round in {1..10}; do
		unload_module
		load_module
		[ $((round % 2)) = 0 ] || mode early 2
	done
	# Not in mode 2 after an even round, as the module goes and comes in mode 1.
	has_files early1 444
	no_anomalies early early1
}

# A clock of ns that all can read is a finer one than the kernel's own statistics.
private_files_are_for_root_alone() {
	unload_module
	insmod "$MODULE" private=1
	same "files that others can open" "$(find "$(sysfs early)/blkacct/" "$(sysfs early1)/blkacct/" \
		-type f -perm /o=rwx)" ""
	same "iostats" "$(stat -c %a "$(sysfs early)/blkacct/iostats")" 640
	same "the others" "$(find "$(sysfs early)/blkacct/" "$(sysfs early1)/blkacct/" -type f \
		-printf '%m\n' | sort | uniq -c | xargs)" "29 440 1 640"
	mode early 2
	read_blocks early 10
	unload_module
	load_module
	has_files early 644
}

clean_up() {
	remove_null early late
	unload_module
}

clean_up
ktap_print_header
ktap_set_plan 8
ktap_test_result disks_that_are_there_have_files disks_that_are_there_have_files
ktap_test_result disks_that_come_later_have_files disks_that_come_later_have_files
ktap_test_result files_go_with_the_device files_go_with_the_device
if [ -e /proc/kcore ]; then
	ktap_test_result probes_are_attached_in_mode_2_only probes_are_attached_in_mode_2_only
else
	ktap_test_skip probes_are_attached_in_mode_2_only "this kernel does not show its memory"
fi
ktap_test_result unloading_leaves_nothing unloading_leaves_nothing
ktap_test_result loading_again_starts_anew loading_again_starts_anew
ktap_test_result loads_and_unloads_10_times loads_and_unloads_10_times
ktap_test_result private_files_are_for_root_alone private_files_are_for_root_alone
clean_up
ktap_finished
