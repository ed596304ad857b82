#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What readers see while I/O runs on every CPU: numbers that only grow, and no time by more
# than the one that bounds it. Many readers at once, and a reader while the mode changes.
. "$(dirname "$0")/lib.sh"

readers_at_once() { # NUMBER-OF-READERS READS DEVICE...
	local readers=$1 reads=$2 pids=() pid device
	shift 2
	for ((; readers > 0; readers--)); do
		for device; do
			blkacct check --watch "$device" --reads "$reads" &
			pids+=($!)
		done
	done
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
	load_is_on "$@"
}

nothing_steps_back_under_load() {
	start_load disk disk1
	readers_at_once 1 3000 disk disk1
	stop_load
	no_anomalies disk disk1
}

nothing_steps_back_for_many_readers() {
	start_load disk disk1
	readers_at_once 4 500 disk disk1
	stop_load
	no_anomalies disk disk1
}

# At depth 1 the busy clock stops and starts with every request.
nothing_steps_back_at_depth_1() {
	dd if=/dev/disk of=/dev/null bs=4096 iflag=direct status=none &
	load=$!
	trap 'kill $load 2>/dev/null || :' EXIT
	readers_at_once 1 2000 disk
	stop_load
	no_anomalies disk
}

# The tool wants mode 2 when it begins, and ends with 4 if it finds another.
watch_once_in_mode_2() { # DEVICE READS
	local status=4 said
	while [ $status = 4 ]; do
		status=0
		said=$(blkacct check --watch "$1" --reads "$2" 2>&1) || status=$?
	done
	echo "$said"
	return $status
}

# There is I/O in each mode before the next.
nothing_steps_back_while_the_mode_changes() {
	local readers=() reader device changes=0
	start_load disk disk1
	for device in disk disk1; do
		watch_once_in_mode_2 $device $((BLKACCT_READS * 2)) &
		readers+=($!)
	done
	while kill -0 "${readers[@]}" 2>/dev/null; do
		mode disk $((1 + changes % 2))
		load_is_on disk disk1
		changes=$((changes + 1))
	done
	# For one that has yet to begin.
	mode disk 2
	for reader in "${readers[@]}"; do
		wait "$reader"
	done
	echo "$changes changes of the mode"
	[ $changes -ge 2 ]
	stop_load
	no_anomalies disk disk1
}

# A disk's numbers are those of its partitions, if all I/O is on these. The busy time
# is measured for each, so it differs by the time between the two.
the_disk_has_what_its_partitions_have() {
	local -A whole=() part=() whole_before=() part_before=()
	local name
	ours whole_before disk
	ours part_before disk1
	start_load disk1
	sleep 0.5
	stop_load
	ours whole disk
	ours part disk1
	since whole whole_before
	since part part_before
	for name in read.ios read.sectors write.ios write.sectors in_flight; do
		same "$name" "${whole[$name]}" "${part[$name]}"
	done
	for name in io_ticks time_in_queue read.nsecs write.nsecs; do
		close "$name" "${whole[$name]}" "${part[$name]}" 2
	done
	no_anomalies disk disk1
}

clean_up() {
	remove_null disk
}

clean_up
load_module
add_null disk memory_backed=1
# The partition is as large as the load wants it.
sfdisk -q /dev/disk <<<"start=2048 size=65536"
mode disk 2
ktap_print_header
ktap_set_plan 5
ktap_test_result nothing_steps_back_under_load nothing_steps_back_under_load
ktap_test_result nothing_steps_back_for_many_readers nothing_steps_back_for_many_readers
ktap_test_result nothing_steps_back_at_depth_1 nothing_steps_back_at_depth_1
ktap_test_result nothing_steps_back_while_the_mode_changes nothing_steps_back_while_the_mode_changes
ktap_test_result the_disk_has_what_its_partitions_have the_disk_has_what_its_partitions_have
clean_up
ktap_finished
