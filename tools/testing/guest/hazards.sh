#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Requests whose events do not come in the simple order of one start and one end:
# passthrough, flushes, merges of requests, requeues, merges across partitions, and
# many CPUs at once. Each must leave nothing in flight, and count once.
. "$(dirname "$0")/lib.sh"

send_commands() {
	local number
	for number in {1..10}; do
		sg_raw -r 96 "/dev/$scsi" 12 00 00 00 60 00
		sg_raw -r 512 "/dev/$scsi" 28 00 00 00 00 08 00 00 01 00
		sg_raw "/dev/$scsi" 00 00 00 00 00 00
	done >/dev/null 2>&1
}

passthrough_is_not_counted() {
	local setting
	for setting in 0 1; do
		echo $setting >"$(sysfs "$scsi")/queue/iostats_passthrough"
		begin "$scsi"
		send_commands
		read_blocks "$scsi" 10
		end "$scsi"
		# With iostats_passthrough the kernel may count some: then they are exact too.
		same "reads" "${got[read.ios]}" 10
		same "with drv_in" $((${got[read.ios]} + ${got[drv_in.ios]})) "${kernel[read.ios]}"
		same "with drv_out" $((${got[write.ios]} + ${got[drv_out.ios]})) "${kernel[write.ios]}"
		[ $setting = 1 ] || counted got read.ios=10 read.sectors=80
		mode "$scsi" 0
		send_commands
		no_anomalies "$scsi"
	done
}

# Each write is one with FUA, which the disk cannot: it becomes a write, and a flush
# that it waits for. Then comes an empty flush, which the kernel counts as a write of
# no sectors, and which waits for another.
flushes_are_a_group_and_writes_count_once() {
	begin cached
	write_blocks cached 10 4096 dsync
	end cached
	counted got write.ios=20 write.sectors=80 flush.ios=20
	same "flushes of the kernel" "${kernel[flush.ios]}" 20
	same "writes of the kernel" "${kernel[write.ios]}" 20
	# Ten times write and flush, ten times flush; with its flushes in flight besides, the
	# queue would be two thirds longer than what the writes take.
	within "nsecs" "${got[write.nsecs]}" $((30 * 1000000)) "${got[time_ns]}"
	within "time_in_queue" "${got[time_in_queue]}" $((${got[write.nsecs]} * 3 / 4)) \
		$((${got[write.nsecs]} * 5 / 4))
}

# A disk that takes one request at a time, and two far apart to keep it busy: the rest
# waits in the scheduler's queue. The third of it fills the gap between the first two.
merge_requests() {
	"$GUEST_DIR/aio.py" single:r:81920:8 single:r:163840:8 single:r:0:8 single:r:16:8 single:r:8:8 \
		>/tmp/submitted
}

# They meet if all are submitted before the disk is done with two, so it may take more than one
# attempt. The numbers must be right in each.
requests_that_merge_count_once() {
	local merges=0 attempt
	for attempt in {1..40}; do
		begin single
		merges=$(events block_rq_merge merge_requests)
		end single
		agrees got kernel read
		same "reads, alone or merged" $((${got[read.ios]} + ${got[read.merges]})) 5
		same "sectors" "${got[read.sectors]}" 40
		[ "$merges" = 0 ] || break
	done
	same "merges of requests in attempt $attempt" "$merges" 1
	counted got read.ios=3 read.merges=2 read.sectors=40
	# The second waited for the first, the merged one for both, but for what they came later.
	within "nsecs" "${got[read.nsecs]}" $((6 * 50000000 - 2 * $(</tmp/submitted))) \
		"${got[time_in_queue]}"
}

# The first sectors of the second partition wait in the scheduler's queue; the last of
# the first partition are merged to their front, which moves the request there.
merge_across() {
	"$GUEST_DIR/aio.py" single:r:81920:8 single:r:163840:8 single2:r:0:8 single1:r:1016:8 >/dev/null
}

a_merge_across_partitions_stays_where_it_started() {
	local -A first=() second=() first_before=() second_before=()
	local attempt
	mode single 2
	for attempt in {1..40}; do
		ours first_before single1
		ours second_before single2
		begin single
		merge_across
		end single
		no_anomalies single1 single2
		agrees got kernel read
		[ "${got[read.merges]}" = 0 ] || break
	done
	counted got read.ios=3 read.merges=1 read.sectors=32
	ours first single1
	ours second single2
	since first first_before
	since second second_before
	counted first
	counted second read.ios=1 read.merges=1 read.sectors=16
	same "busy time of the first" "${first[io_ticks]}" 0
	within "busy time of the second" "${second[io_ticks]}" 50000000 "${second[time_ns]}"
}

requeue_some() {
	echo 0x8000 >/sys/bus/pseudo/drivers/scsi_debug/opts # the host is busy
	echo 5 >/sys/bus/pseudo/drivers/scsi_debug/every_nth
	read_blocks "$scsi" 40
	echo 0 >/sys/bus/pseudo/drivers/scsi_debug/every_nth
	echo 0 >/sys/bus/pseudo/drivers/scsi_debug/opts
}

requeued_requests_count_once() {
	local requeues
	begin "$scsi"
	requeues=$(events block_rq_requeue requeue_some)
	end "$scsi"
	within "requeues" "$requeues" 5 100
	# The kernel tells of those, too, that were not issued: the driver had no room.
	within "requeues counted" "${got[requeues]}" 5 "$requeues"
	counted got read.ios=40 read.sectors=320
	agrees got kernel read
}

many_cpus_at_once() {
	local cpu pids=() pid
	begin cached
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		taskset -c "$cpu" dd if=/dev/cached of=/dev/null bs=4096 count=200 iflag=direct status=none &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
	end cached
	counted got read.ios=$((200 * $(nproc))) read.sectors=$((1600 * $(nproc)))
	agrees got kernel read
	within "io_ticks" "${got[io_ticks]}" $((200 * 1000000)) "${got[time_ns]}"
	within "time_in_queue" "${got[time_in_queue]}" "${got[io_ticks]}" $((got[io_ticks] * $(nproc)))
}

clean_up() {
	remove_null cached single
	remove_scsi
}

clean_up
load_module
add_null cached memory_backed=1 cache_size=64 fua=0 completion_nsec=1000000
add_null single memory_backed=1 submit_queues=1 hw_queue_depth=1 completion_nsec=50000000
partition single
echo mq-deadline >"$(sysfs single)/queue/scheduler"
echo 64 >"$(sysfs single)/queue/nr_requests"
scsi=$(add_scsi 1 statistics=1)
ktap_print_header
ktap_set_plan 6
ktap_test_result passthrough_is_not_counted passthrough_is_not_counted
ktap_test_result flushes_are_a_group_and_writes_count_once flushes_are_a_group_and_writes_count_once
ktap_test_result requests_that_merge_count_once requests_that_merge_count_once
ktap_test_result a_merge_across_partitions_stays_where_it_started \
	a_merge_across_partitions_stays_where_it_started
ktap_test_result requeued_requests_count_once requeued_requests_count_once
ktap_test_result many_cpus_at_once many_cpus_at_once
clean_up
ktap_finished
