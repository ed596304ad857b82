#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Reads of stat, as many as go, while I/O runs and CPUs come and go: no number steps back,
# and no time outgrows the one that bounds it. BLKACCT_READS=25000 makes it 100000.
. "$(dirname "$0")/lib.sh"

# Reads of each of four devices.
READS=$BLKACCT_READS

cpus_come_and_go() {
	local cpu
	while :; do
		for cpu in 1 2 3; do
			echo 0 >/sys/devices/system/cpu/cpu$cpu/online
			sleep 0.1
			echo 1 >/sys/devices/system/cpu/cpu$cpu/online
			sleep 0.1
		done
	done
}

no_two_reads_contradict_each_other() {
	local pids=() pid device status=0
	start_load disk disk1 other
	# At depth 1 the busy clock stops and starts with every request.
	while :; do
		read_blocks one 1000
	done &
	pids+=($!)
	cpus_come_and_go &
	pids+=($!)
	trap 'kill ${pids[*]} $load 2>/dev/null || :' EXIT
	for device in disk disk1 other one; do
		blkacct check --watch $device --reads "$READS" >"watch.$device" &
		watch[$device]=$!
	done
	for device in disk disk1 other one; do
		wait "${watch[$device]}" || status=1
		cat "watch.$device"
	done
	kill "${pids[@]}"
	wait "${pids[@]}" || :
	for pid in 1 2 3; do
		echo 1 >/sys/devices/system/cpu/cpu$pid/online
	done
	load_is_on disk disk1 other
	stop_load
	no_anomalies disk disk1 other
	return $status
}
declare -A watch

# Both have all that was done, once nothing is in flight: the partition has a part of it. Outside
# a plug the kernel stamps a request a moment after us, so that its latency is less than its
# share of the queue's time; 60 us is what the rigs grant a request.
waiting_and_service_add_up_once_idle() {
	local -A now=()
	local device lag
	for device in disk other one; do
		eventually 10 is_idle $device
		ours now $device
		same "$device: at the driver" "${now[device_in_flight]}" 0
		within "$device: time at the driver" "${now[read.device_nsecs]}" 1 "${now[read.nsecs]}"
		within "$device: busy" "${now[io_ticks]}" "${now[device_ticks]}" "${now[time_in_queue]}"
		lag=$(((${now[read.ios]} + ${now[write.ios]}) * 60000 * BLKACCT_PATIENCE))
		within "$device: sum of latencies against the queue's" \
			$((${now[read.nsecs]} + ${now[write.nsecs]})) \
			$((now[time_in_queue] - lag)) "${now[time_in_queue]}"
	done
}

clean_up() {
	remove_null disk other one
}

cd "$(mktemp -d)" || exit
clean_up
load_module
add_null disk memory_backed=1 size=64
printf 'label: dos\nstart=2048 size=98304\n' | sfdisk -q /dev/disk
add_null other submit_queues=1 hw_queue_depth=4
echo mq-deadline >"$(sysfs other)/queue/scheduler"
echo 64 >"$(sysfs other)/queue/nr_requests"
add_null one
for device in disk other one; do
	mode $device 2
done
ktap_print_header
ktap_set_plan 2
ktap_test_result no_two_reads_contradict_each_other no_two_reads_contradict_each_other
ktap_test_result waiting_and_service_add_up_once_idle waiting_and_service_add_up_once_idle
clean_up
ktap_finished
