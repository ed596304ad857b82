#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The kernel's own io_ticks, which iostat and all others read: exact in mode 2, in
# /proc/diskstats and in "stat", on disks and partitions; the kernel's in other modes.
. "$(dirname "$0")/lib.sh"

look() { # WHAT NUMBER DEVICE...
	"$GUEST_DIR/classic.py" "$@"
}

# look_equal DEVICE...: starts to compare, which begins on idle devices and takes 200
# reads; "watch" is the process.
look_equal() {
	ready=$(mktemp -u)
	READY=$ready look equal 200 "$@" &
	watch=$!
	eventually 20 test -e "$ready"
}

# equal_until COMMAND...: waits for those reads, ends the load with COMMAND, and sees what is
# then.
equal_until() {
	eventually 120 reads_are_over
	"$@"
	wait "$watch"
}

reads_are_over() {
	[ ! -e "$ready" ] || ! kill -0 "$watch" 2>/dev/null
}

# paced DEVICE ARGUMENT...: single reads with pauses, until stop_load or the end of the
# test; the last one's process is "load".
paced() {
	local device=$1
	shift
	rig "--disk=/dev/$device" paced --ios=1000000 "$@" >/dev/null &
	load=$!
	pacers+=("$load")
	trap 'kill "${pacers[@]}" 2>/dev/null || :' EXIT
}

stop_pacers() {
	kill "${pacers[@]}"
	wait "${pacers[@]}" 2>/dev/null || :
	pacers=()
}

# Short reads with pauses: most jiffies are partly busy, and the disk is busy when one
# partition is.
io_ticks_are_ours_in_whole_jiffies() {
	local watch ready
	mode disk 2
	same classic "$(xargs <"$(sysfs disk)/blkacct/classic")" 1
	look_equal disk disk1 disk2
	paced disk1 --think-us=3000
	paced disk2 --think-us=5000 --jitter-us=2000
	equal_until stop_pacers
	no_anomalies disk disk1 disk2
}

io_ticks_are_ours_under_deep_load() {
	local watch ready
	look_equal disk disk1 disk2
	start_load disk1 disk2
	equal_until stop_load
	no_anomalies disk disk1 disk2
}

reads_in_flight() { # DEVICE NUMBER
	local -A now=()
	kernels now "$1"
	[ "${now[in_flight]}" = "$2" ]
}

a_disk_that_hangs_is_busy_meanwhile() {
	local scsi
	scsi=$(add_scsi 1 ndelay=10000)
	sfdisk -q "/dev/$scsi" <<<"start=2048 size=8192"
	mode "$scsi" 2
	echo 1750 >/sys/bus/pseudo/drivers/scsi_debug/delay # jiffies: 7 s
	read_blocks "${scsi}1" 1 &
	eventually 5 reads_in_flight "${scsi}1" 1
	look hangs 5 "$scsi" "${scsi}1"
	reads_in_flight "${scsi}1" 1
	wait
	no_anomalies "$scsi" "${scsi}1"
	remove_scsi
}

nothing_jumps_while_the_mode_changes() {
	local watch next changes=0
	mode disk 1
	start_load disk disk1
	look steady 400 disk disk1 &
	watch=$!
	# Not from 0 to 1: the kernel may charge all of mode 0 then.
	while kill -0 $watch 2>/dev/null; do
		for next in 2 1 0 2 0 2 1; do
			echo $next >"$(sysfs disk)/queue/iostats"
			changes=$((changes + 1))
			# Long enough for what is counted twice to add up.
			sleep 0.7
		done
	done
	wait $watch
	within "mode changes" $changes 7 1000
	mode disk 1
	stop_load
	no_anomalies disk disk1
}

# The stamp is back in the present: a deep load is busy most of the time, if emulation
# makes it wait, and never more than that.
kernel_counts() { # DEVICE
	local -A before=() after=()
	local began
	began=$(monotonic_ms)
	kernels before "$1"
	sleep 1
	kernels after "$1"
	since after before
	within "$1: busy ms of the kernel" "${after[io_ticks]}" 500 $(($(monotonic_ms) - began + 4))
}

monotonic_ms() {
	python3 -c 'import time; print(time.monotonic_ns() // 1000000)'
}

the_kernel_counts_again_afterwards() {
	local -A now=()
	mode disk 2
	start_load disk
	mode disk 1
	kernel_counts disk
	mode disk 2
	sleep 0.5
	unload_module
	look steady 100 disk disk1
	kernel_counts disk
	load_module
	mode disk 2
	kernel_counts disk
	stop_load
	# All was on the disk.
	kernels now disk1
	same "reads in flight on the partition" "${now[in_flight]}" 0
	no_anomalies disk disk1
}

# hooked: how many of the two functions that show the statistics are, by anyone.
hooked() {
	grep -cE '^(diskstats_show|part_stat_show) ' /sys/kernel/tracing/enabled_functions || :
}

# shares.sh shows by how much the two then differ.
classic_0_leaves_the_kernels_own() {
	unload_module
	insmod "$MODULE" classic=0
	trap 'unload_module; load_module' EXIT
	same classic "$(xargs <"$(sysfs slow)/blkacct/classic")" 0
	echo 2 >"$(sysfs slow)/queue/iostats"
	same "hooked with classic=0" "$(hooked)" 0
	unload_module
	load_module
	same classic "$(xargs <"$(sysfs slow)/blkacct/classic")" 1
	mode slow 2
	same "hooked with classic=1" "$(hooked)" 2
	no_anomalies slow
}

clean_up() {
	remove_null disk slow
	remove_scsi
}

clean_up
load_module
pacers=()
# Long enough for a queue that is always deep.
add_null disk memory_backed=1 completion_nsec=2000000
sfdisk -q /dev/disk <<-END
	start=2048 size=65536
	start=67584 size=65536
END
add_null slow completion_nsec=1000000
ktap_print_header
ktap_set_plan 6
ktap_test_result io_ticks_are_ours_in_whole_jiffies io_ticks_are_ours_in_whole_jiffies
ktap_test_result io_ticks_are_ours_under_deep_load io_ticks_are_ours_under_deep_load
ktap_test_result a_disk_that_hangs_is_busy_meanwhile a_disk_that_hangs_is_busy_meanwhile
ktap_test_result nothing_jumps_while_the_mode_changes nothing_jumps_while_the_mode_changes
ktap_test_result the_kernel_counts_again_afterwards the_kernel_counts_again_afterwards
ktap_test_result classic_0_leaves_the_kernels_own classic_0_leaves_the_kernels_own
clean_up
ktap_finished
