#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bio-based disks in mode 2: zram, device-mapper and md. Their drivers account with
# two functions of the block layer, in jiffies, and their I/O spans a switch of modes.
. "$(dirname "$0")/lib.sh"

late_starts() { # DEVICE
	sed -n 's/^late_starts //p' "$(sysfs "$1")/blkacct/anomalies"
}

# kernel_follows DEVICE OURS-SINCE KERNELS-SINCE: the kernel's times of this window are
# ours: io_ticks to a jiffy, nsecs to one jiffy that may slip in for each of a few I/Os.
kernel_follows() {
	local -n mine=$2 its=$3
	local group ms
	ms=$((mine[io_ticks] / 1000000))
	within "$1: the kernel's io_ticks" "${its[io_ticks]}" $((ms - 5)) $((ms + 5))
	for group in read write discard; do
		ms=$((mine[$group.nsecs] / 1000000))
		within "$1: the kernel's $group time" "${its[$group.ms]}" $((ms - 1)) $((ms + 13))
	done
}

# one_by_one OURS-SINCE GROUP: with one I/O at a time, all times are the same.
one_by_one() {
	local -n o=$1
	same "time_in_queue" "${o[time_in_queue]}" "${o[io_ticks]}"
	same "$2.nsecs" "${o[$2.nsecs]}" "${o[io_ticks]}"
}

zram_counts() {
	local -A before=() after=() kernel_before=() kernel_after=()
	mode zram0 2
	same "mode" "$(mode zram0)" 2
	same "queue/iostats" "$(cat "$(sysfs zram0)/queue/iostats")" 2
	sleep 0.02
	ours before zram0
	kernels kernel_before zram0
	write_blocks zram0 20 65536
	ours after zram0
	kernels kernel_after zram0
	since after before
	since kernel_after kernel_before
	counted after write.ios=20 write.sectors=2560
	agrees after kernel_after read write discard
	one_by_one after write
	within "io_ticks" "${after[io_ticks]}" 1 "${after[time_ns]}"
	kernel_follows zram0 after kernel_after
	mode zram0 1
	no_anomalies zram0
}

a_known_latency_is_seen_through_a_linear_device() {
	local -A before=() after=() kernel_before=() kernel_after=()
	add_dm linear "0 $(sectors slow) linear /dev/slow 0"
	mode "$dm" 2
	mode slow 2
	sleep 0.02
	ours before "$dm"
	kernels kernel_before "$dm"
	read_blocks "$dm" 20
	ours after "$dm"
	kernels kernel_after "$dm"
	since after before
	since kernel_after kernel_before
	counted after read.ios=20 read.sectors=160
	agrees after kernel_after read write discard
	one_by_one after read
	within "20 reads of 10 ms" "${after[io_ticks]}" 200000000 "${after[time_ns]}"
	kernel_follows "$dm" after kernel_after
	no_anomalies "$dm" slow
	mode "$dm" 1
	remove_dm linear
}

a_split_counts_as_the_kernel_counts_it() {
	local -A before=() after=() kernel_before=() kernel_after=()
	add_dm stripe "0 2048 striped 2 8 /dev/one 0 /dev/two 0"
	mode "$dm" 2
	sleep 0.02
	ours before "$dm"
	kernels kernel_before "$dm"
	read_blocks "$dm" 5 16384
	write_blocks "$dm" 3 4096 dsync
	ours after "$dm"
	kernels kernel_after "$dm"
	since after before
	since kernel_after kernel_before
	same "in_flight" "${after[in_flight]}" 0
	same "reads" "${after[read.ios]}" 20
	same "sectors written" "${after[write.sectors]}" 24
	agrees after kernel_after read write discard
	kernel_follows "$dm" after kernel_after
	no_anomalies "$dm"
	remove_dm stripe
}

what_a_target_holds_back_is_told_and_left_to_the_kernel() {
	local -A before=() after=() kernel_before=() kernel_after=()
	local delay top
	add_dm delay "0 2048 delay /dev/one 0 40"
	delay=$dm
	add_dm top "0 2048 linear /dev/$delay 0"
	top=$dm
	mode "$delay" 2
	mode "$top" 2
	sleep 0.02
	read_blocks "$top" 20
	kernels kernel_before "$delay"
	ours before "$top"
	read_blocks "$top" 20
	ours after "$top"
	kernels kernel_after "$delay"
	since after before
	since kernel_after kernel_before
	# Above it all is seen; and where it is not, the kernel's own is not made worse.
	one_by_one after read
	# The target counts jiffies, of which the first has begun.
	within "above: 20 reads of 40 ms" "${after[io_ticks]}" 720000000 "${after[time_ns]}"
	within "late starts of the target" "$(late_starts "$delay")" 20 40
	within "the kernel's read time" "${kernel_after[read.ms]}" 700 2000
	within "the kernel's io_ticks" "${kernel_after[io_ticks]}" 700 2000
	no_anomalies "$top" "$delay"
	remove_dm top delay
}

md_counts() { # LEVEL
	local -A disk_before=() disk_after=() before=() after=() kernel_before=() kernel_after=()
	mdadm --quiet --create /dev/md0 --level="$1" --raid-devices=2 --metadata=1.0 \
		--assume-clean --run /dev/one /dev/two
	sfdisk -q /dev/md0 <<-END
		label: dos
		start=2048 size=4096
	END
	eventually 5 test -d "$(sysfs md0p1)/blkacct"
	mode md0 2
	same "the partition's mode" "$(mode md0p1)" 2
	sleep 0.02
	ours before md0p1
	ours disk_before md0
	kernels kernel_before md0p1
	write_blocks md0p1 10
	read_blocks md0p1 7
	ours after md0p1
	ours disk_after md0
	kernels kernel_after md0p1
	since after before
	since disk_after disk_before
	since kernel_after kernel_before
	counted after write.ios=10 write.sectors=80 read.ios=7 read.sectors=56
	counted disk_after write.ios=10 write.sectors=80 read.ios=7 read.sectors=56
	agrees after kernel_after read write discard
	kernel_follows md0p1 after kernel_after
	mode md0 1
	no_anomalies md0 md0p1
	mdadm --quiet --stop /dev/md0
}

the_hooks_go_by_themselves() {
	mode zram0 2
	[ "$(grep -c bdev_ /sys/kernel/tracing/enabled_functions)" -gt 0 ]
	mode zram0 1
	eventually 5 hooks_are_gone
}

without_ftrace_2_is_refused() {
	unload_module
	echo 0 >/proc/sys/kernel/ftrace_enabled
	load_module
	same "2 on zram0" "$(errno_of "$(sysfs zram0)/blkacct/iostats" 2)" "Operation not supported"
	same "2 on a request-based one" "$(errno_of "$(sysfs one)/blkacct/iostats" 2)" ""
	unload_module
	echo 1 >/proc/sys/kernel/ftrace_enabled
	load_module
	same "2 on zram0" "$(errno_of "$(sysfs zram0)/blkacct/iostats" 2)" ""
	mode zram0 1
}

clean_up() {
	[ ! -b /dev/md0 ] || mdadm --quiet --stop /dev/md0 2>/dev/null
	dmsetup remove_all --force 2>/dev/null
	modprobe -qr zram
	remove_null one two slow
}

mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
clean_up
load_module
modprobe -a dm-mod dm-delay raid0 raid1
modprobe zram num_devices=1
echo 16M >"$(sysfs zram0)/disksize"
add_null one memory_backed=1 size=16
add_null two memory_backed=1 size=16
add_null slow completion_nsec=10000000
ktap_print_header
ktap_set_plan 8
ktap_test_result zram_counts zram_counts
ktap_test_result a_known_latency_is_seen_through_a_linear_device \
	a_known_latency_is_seen_through_a_linear_device
ktap_test_result a_split_counts_as_the_kernel_counts_it a_split_counts_as_the_kernel_counts_it
ktap_test_result what_a_target_holds_back_is_told_and_left_to_the_kernel \
	what_a_target_holds_back_is_told_and_left_to_the_kernel
ktap_test_result raid0_counts md_counts 0
ktap_test_result raid1_counts md_counts 1
ktap_test_result the_hooks_go_by_themselves the_hooks_go_by_themselves
if ftrace_can_be_off; then
	ktap_test_result without_ftrace_2_is_refused without_ftrace_2_is_refused
else
	ktap_test_skip without_ftrace_2_is_refused "this kernel is never without"
fi
clean_up
ktap_finished
