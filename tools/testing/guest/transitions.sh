#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What changes around busy disks: the CPUs that are there, I/O schedulers, modes, the
# state of the machine, device-mapper tables. All the while every counter only grows,
# and after it nothing is in flight and nothing was counted wrong. removal.sh and
# bio_load.sh have the devices that go.
. "$(dirname "$0")/lib.sh"

# How long modes flip, in seconds. The long run is 60; this is what all tests can spare.
FLIP_SECONDS=$BLKACCT_FLIP_SECONDS
# The null_blk disk has two queues, as has the virtio disk the host attached; the third
# device is a linear one on a target that delays. Each needs 40 ms for 32 requests, so that
# all are in flight most of the time, and the machine has time for the rest.
declare -a devices

# under_load COMMAND...: runs COMMAND while all devices are busy in mode 2 and watched.
under_load() {
	local device watch
	for device in "${devices[@]}"; do
		mode "$device" 2
	done
	start_load "${devices[@]}"
	python3 "$GUEST_DIR/steady.py" 600 "${devices[@]}" &
	watch=$!
	trap 'kill $load $watch 2>/dev/null || :' EXIT
	"$@"
	load_is_on "${devices[@]}"
	kill $watch
	wait $watch
	stop_load
	counts_as_ever "${devices[@]}"
}

cpus_go_and_come() {
	local round cpu
	for round in 1 2; do
		for cpu in /sys/devices/system/cpu/cpu[1-9]*; do
			echo 0 >"$cpu/online"
			sleep 0.2
		done
		same "CPUs" "$(nproc)" 1
		load_is_on "${devices[@]}"
		for cpu in /sys/devices/system/cpu/cpu[1-9]*; do
			echo 1 >"$cpu/online"
			sleep 0.2
		done
	done
}

schedulers_and_depths_change() {
	local device scheduler requests
	for scheduler in mq-deadline bfq kyber none; do
		for device in "${devices[@]:0:2}"; do
			echo $scheduler >"$(sysfs "$device")/queue/scheduler"
			grep -qF "[$scheduler]" "$(sysfs "$device")/queue/scheduler"
			for requests in 8 64; do
				echo $requests >"$(sysfs "$device")/queue/nr_requests"
				sleep 0.2
			done
		done
	done
}

# flip DEVICE MODE: from this mode on to the next all 100 ms, and more when it has to drain;
# to each mode twice at least, however slow the machine is.
flip() {
	local end=$((SECONDS + FLIP_SECONDS)) next=$2 flips=0 full=0 file
	file=$(sysfs "$1")/blkacct/iostats
	while [ $SECONDS -lt "$end" ] || [ $flips -lt 6 ]; do
		if echo "$next" 2>/dev/null >"$file"; then
			same "$1: mode" "$(<"$file")" "$next"
		else
			# A bio-based device that is never idle enters mode 2 64 times and no more.
			same "$1: what was refused" "$1 $next" "$top 2"
			within "$1: flips before" $flips 190 9999
			full=$((full + 1))
		fi
		flips=$((flips + 1)) next=$(((next + 1) % 3))
		sleep 0.1
	done
	echo "$1: $flips flips, $full of them refused for want of room"
	# In mode 0 the kernel does not see the load either.
	mode "$1" 1
	# A device that was refused is not for long, though it is never idle.
	eventually 20 mode "$1" 2
}

modes_flip() {
	local at pids=() pid
	for at in 0 1 2; do
		flip "${devices[at]}" $at &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
}

# Nothing wakes an emulated machine, so the kernel is told to turn round when all tasks
# are frozen and all devices suspended, with their queues quiesced and their state lost.
suspend_to_idle() {
	local round before
	echo 1 >/sys/module/suspend/parameters/pm_test_delay
	echo platform >/sys/power/pm_test
	for round in 1 2; do
		before=$(</sys/power/suspend_stats/success)
		echo freeze >/sys/power/state
		same "suspends" $(($(</sys/power/suspend_stats/success) - before)) 1
		load_is_on "${devices[@]}"
		sleep 1
	done
	echo none >/sys/power/pm_test
}

# The table is exchanged, as a volume manager does: what is in flight ends first, and
# new I/O waits until the device resumes.
a_table_is_exchanged() {
	local round
	for round in {1..6}; do
		dmsetup reload top --table "0 32768 linear /dev/$delay $((round % 2 * 32768))"
		dmsetup suspend top
		sleep 0.1
		dmsetup resume top
		sleep 0.2
	done
}

why_no_suspend() {
	grep -qsw freeze /sys/power/state || echo "the kernel cannot suspend to idle"
	grep -qsw platform /sys/power/pm_test || echo "the kernel cannot test it"
}

clean_up() {
	dmsetup remove_all --force 2>/dev/null
	remove_null fast under
}

clean_up
load_module
modprobe -a dm-mod dm-delay bfq kyber-iosched mq-deadline
add_null fast submit_queues=2 completion_nsec=40000000
add_null under size=64
add_dm delay "0 65536 delay /dev/under 0 40"
delay=$dm
add_dm top "0 32768 linear /dev/$delay 0"
top=$dm
devices=(fast sda "$top")
ktap_print_header
ktap_set_plan 5
ktap_test_result cpus_go_and_come under_load cpus_go_and_come
ktap_test_result schedulers_and_depths_change under_load schedulers_and_depths_change
ktap_test_result modes_flip under_load modes_flip
ktap_test_result a_table_is_exchanged under_load a_table_is_exchanged
if [ -z "$(why_no_suspend)" ]; then
	ktap_test_result the_machine_suspends_to_idle under_load suspend_to_idle
else
	ktap_test_skip the_machine_suspends_to_idle "$(why_no_suspend)"
fi
clean_up
ktap_finished
