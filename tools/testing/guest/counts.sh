#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A known load is counted exactly, on the disk and on its partitions, and as the
# kernel counts it; the times fit what the disk takes for a request.
. "$(dirname "$0")/lib.sh"

# measure DEVICES COMMAND...: runs COMMAND and leaves for each device what it added:
# to our numbers in ours_DEVICE, to the kernel's in kernels_DEVICE. No I/O is in
# flight before and after.
measure() {
	local each
	local devices=$1
	shift
	for each in $devices; do
		declare -gA "ours_$each=()" "kernels_$each=()" "ours_before_$each=()" "kernels_before_$each=()"
		ours "ours_before_$each" "$each"
		kernels "kernels_before_$each" "$each"
	done
	"$@"
	for each in $devices; do
		ours "ours_$each" "$each"
		kernels "kernels_$each" "$each"
		since "ours_$each" "ours_before_$each"
		since "kernels_$each" "kernels_before_$each"
		no_anomalies "$each"
	done
}

reads_and_writes() {
	read_blocks disk 10
	write_blocks disk 3 8192
	read_blocks disk1 7 16384
	write_blocks disk2 5 4096
}

reads_and_writes_on_disk_and_partitions() {
	mode disk 2
	measure "disk disk1 disk2" reads_and_writes
	counted ours_disk1 read.ios=7 read.sectors=224
	counted ours_disk2 write.ios=5 write.sectors=40
	counted ours_disk read.ios=17 read.sectors=304 write.ios=8 write.sectors=88
	agrees ours_disk kernels_disk read write
	agrees ours_disk1 kernels_disk1 read write
	agrees ours_disk2 kernels_disk2 read write
}

discards() {
	blkdiscard -qf -o 1048576 -l 65536 /dev/disk
	blkdiscard -qf -o 0 -l 131072 /dev/disk2
}

discards_are_a_group() {
	measure "disk disk1 disk2" discards
	counted ours_disk1
	counted ours_disk2 discard.ios=1 discard.sectors=256
	counted ours_disk discard.ios=2 discard.sectors=384
	agrees ours_disk kernels_disk discard
}

zeroes() {
	blkdiscard -qfz -o 65536 -l 32768 "/dev/$scsi"
	write_blocks "$scsi" 2
}

write_zeroes_are_a_group() {
	mode "$scsi" 2
	measure "$scsi" zeroes
	local -n got=ours_$scsi
	counted "ours_$scsi" write_zeroes.ios=1 write_zeroes.sectors=64 write.ios=2 write.sectors=16
	# The kernel takes both for writes.
	local -n stock=kernels_$scsi
	same "write.ios of the kernel" "${stock[write.ios]}" 3
	same "write.sectors of the kernel" "${stock[write.sectors]}" 80
	same "the rest" "${got[zone_mgmt.ios]}" 0
}

# Eight neighbours in one plug, on the second partition: one request, seven merges.
batch() {
	"$GUEST_DIR/aio.py" disk2:r:0:8,disk2:r:8:8,disk2:r:16:8,disk2:r:24:8,disk2:r:32:8,disk2:r:40:8,disk2:r:48:8,disk2:r:56:8
}

merges_in_a_plug() {
	measure "disk disk1 disk2" batch
	counted ours_disk2 read.ios=1 read.merges=7 read.sectors=64
	counted ours_disk read.ios=1 read.merges=7 read.sectors=64
	counted ours_disk1
	agrees ours_disk2 kernels_disk2 read
}

# One after the other at 2 ms each: busy and queue time are nearly the same thing then.
# Not quite, as a reader may have its data, and ask for more, before the request is done.
times_at_depth_1() {
	mode slow 2
	measure slow read_blocks slow 50
	counted ours_slow read.ios=50 read.sectors=400
	within io_ticks "${ours_slow[io_ticks]}" 100000000 "${ours_slow[time_ns]}"
	within nsecs "${ours_slow[read.nsecs]}" 100000000 "${ours_slow[time_ns]}"
	within time_in_queue "${ours_slow[time_in_queue]}" "${ours_slow[io_ticks]}" \
		$((ours_slow[io_ticks] * 5 / 4))
}

# Sixteen apart in one plug, not to be merged: busy as long as one takes, or little more.
apart() {
	local at batch=
	for at in {0..15}; do
		batch+=,slow:r:$((at * 1024)):8
	done
	"$GUEST_DIR/aio.py" "${batch#,}"
}

times_at_depth_16() {
	measure slow apart
	counted ours_slow read.ios=16 read.sectors=128
	within io_ticks "${ours_slow[io_ticks]}" 2000000 "${ours_slow[time_ns]}"
	within time_in_queue "${ours_slow[time_in_queue]}" $((16 * 2000000)) \
		$((16 * ours_slow[io_ticks]))
	# Each from its own start, not from that of the plug.
	close nsecs "${ours_slow[read.nsecs]}" "${ours_slow[time_in_queue]}" 1 16000
}

monotonic() {
	python3 -c 'import time; print(time.monotonic_ns())'
}

the_time_is_that_of_the_monotonic_clock() {
	local -A now=()
	local before after
	before=$(monotonic)
	ours now disk
	after=$(monotonic)
	within time_ns "${now[time_ns]}" "$before" "$after"
}

some_of_everything() {
	reads_and_writes
	discards
	batch
}

outside_mode_2_nothing_moves() {
	local outside name
	for outside in 1 0; do
		mode disk $outside
		measure "disk disk1 disk2" some_of_everything
		unset "ours_disk[time_ns]" "ours_disk2[time_ns]"
		for name in "${!ours_disk[@]}"; do
			same "disk $name" "${ours_disk[$name]}" 0
			same "disk2 $name" "${ours_disk2[$name]:-0}" 0
		done
	done
}

# Only what happens in mode 2 is added, and nothing is taken away.
counters_live_through_mode_changes() {
	local -A first=() last=() now=()
	local next name
	mode disk 2
	ours first disk
	last=()
	for next in 1 2 0 2 0 1 2; do
		reads_and_writes
		mode disk "$next"
		ours now disk
		for name in "${!now[@]}"; do
			within "$name after a change to $next" "${now[$name]}" "${last[$name]:-0}" 9223372036854775807
			last[$name]=${now[$name]}
		done
	done
	since now first
	# The first round of each period of mode 2.
	counted now read.ios=51 read.sectors=912 write.ios=24 write.sectors=264
	no_anomalies disk disk1 disk2
}

clean_up() {
	remove_null disk slow
	remove_scsi
}

clean_up
load_module
add_null disk memory_backed=1 discard=1
partition disk
add_null slow completion_nsec=2000000
scsi=$(add_scsi 1 lbpu=1 lbpws=1)
ktap_print_header
ktap_set_plan 9
ktap_test_result reads_and_writes_on_disk_and_partitions reads_and_writes_on_disk_and_partitions
ktap_test_result discards_are_a_group discards_are_a_group
ktap_test_result write_zeroes_are_a_group write_zeroes_are_a_group
ktap_test_result merges_in_a_plug merges_in_a_plug
ktap_test_result times_at_depth_1 times_at_depth_1
ktap_test_result times_at_depth_16 times_at_depth_16
ktap_test_result the_time_is_that_of_the_monotonic_clock the_time_is_that_of_the_monotonic_clock
ktap_test_result outside_mode_2_nothing_moves outside_mode_2_nothing_moves
ktap_test_result counters_live_through_mode_changes counters_live_through_mode_changes
clean_up
ktap_finished
