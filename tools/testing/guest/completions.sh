#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Where and how drivers complete: in the call that submits, in a softirq, from a timer, on
# another CPU, in batches, polled. Every I/O counts once in each.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/kinds.sh"

# Of each of the four jobs, on a CPU of its own.
READS=100

# counts_exactly DEVICE [FIO-OPTION...]
counts_exactly() {
	local device=$1
	local -A was=() now=() kernel_was=() kernel_now=()
	shift
	# What else would make the number of requests another one than that of reads.
	echo 2 >"$(sysfs "$device")/queue/nomerges"
	mode "$device" 2
	ours was "$device"
	kernels kernel_was "$device"
	fio --name=reads --filename="/dev/$device" --direct=1 --rw=randread --bs=4k --iodepth=8 \
		--ioengine=libaio --numjobs=4 --cpus_allowed=0-3 --cpus_allowed_policy=split \
		--thread --number_ios=$READS --norandommap "$@" >/dev/null
	eventually 10 is_idle "$device"
	ours now "$device"
	kernels kernel_now "$device"
	since now was
	since kernel_now kernel_was
	counted now read.ios=$((4 * READS)) read.sectors=$((32 * READS))
	agrees now kernel_now
	same "device_in_flight" "${now[device_in_flight]}" 0
	same "errors" "${now[errors]}" 0
	within "io_ticks" "${now[io_ticks]}" 1 "${now[time_ns]}"
	within "device_ticks" "${now[device_ticks]}" 1 "${now[io_ticks]}"
	within "read.nsecs" "${now[read.nsecs]}" 1 "${now[time_in_queue]}"
	no_anomalies "$device"
	mode "$device" 1
}

null_counts_exactly() { # ATTRIBUTE=VALUE...
	local queues
	for queues in 1 4; do
		remove_null driver
		add_null driver "submit_queues=$queues" "$@"
		counts_exactly driver
	done
}

# The interrupt's CPU, and then the one that submitted. Both drivers complete in batches.
on_the_cpu_of_the_interrupt() { # KIND
	local affinity
	"make_$1"
	for affinity in 0 2; do
		echo $affinity >"$(sysfs "$device")/queue/rq_affinity"
		counts_exactly "$device"
	done
}

polled() {
	remove_null driver
	add_null driver irqmode=0 poll_queues=2
	same "io_poll" "$(cat "$(sysfs driver)/queue/io_poll")" 1
	counts_exactly driver --ioengine=io_uring --hipri
}

load_module
remove_null driver
ktap_print_header
ktap_set_plan 6
ktap_test_result in_the_call_that_submits null_counts_exactly irqmode=0
ktap_test_result in_a_softirq null_counts_exactly irqmode=1
ktap_test_result from_a_timer null_counts_exactly irqmode=2 completion_nsec=100000
ktap_test_result on_the_cpu_of_the_interrupt_virtio on_the_cpu_of_the_interrupt virtio_blk
ktap_test_result on_the_cpu_of_the_interrupt_nvme on_the_cpu_of_the_interrupt nvme
ktap_test_result polled polled
remove_null driver
unload_module
ktap_finished
