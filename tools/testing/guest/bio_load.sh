#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bio-based disks under load: I/O in flight spans a switch of modes, which for these
# disks drains nothing; and disks and module go in mode 2.
. "$(dirname "$0")/lib.sh"

modes_change_with_io_in_flight() {
	local delay top round busy=0 said
	add_dm delay "0 2048 delay /dev/one 0 500"
	delay=$dm
	add_dm top "0 2048 linear /dev/$delay 0"
	top=$dm
	fio --ioengine=libaio --direct=1 --bs=4k --iodepth=32 --rw=randrw --time_based \
		--runtime=300 --name=load --filename="/dev/$top" >/dev/null &
	load=$!
	trap 'kill $load 2>/dev/null || :' EXIT
	load_is_on "$top"
	python3 "$GUEST_DIR/steady.py" 12 "$top" &
	local watch=$!
	local file got
	file=$(sysfs "$top")/blkacct/iostats
	# Within a shell, as emulated CPUs take long to start a process.
	for round in {1..200}; do
		got=$((round % 3))
		if ! echo $got 2>/dev/null >"$file"; then
			busy=$((busy + 1))
			# Only another window can be refused, and only after 64.
			same "what was refused" $got 2
			within "rounds before" "$round" 192 200
			continue
		fi
		same "mode" "$(<"$file")" $got
		sleep 0.02
	done
	echo "$busy of 200 writes were refused for want of room"
	wait $watch
	mode "$top" 1
	stop_load
	eventually 5 hooks_are_gone
	no_anomalies "$top"
	# And it can be entered again.
	local -A before=() after=()
	mode "$top" 2
	sleep 0.02
	ours before "$top"
	read_blocks "$top" 2
	ours after "$top"
	since after before
	counted after read.ios=2 read.sectors=16
	within "2 reads of 500 ms" "${after[io_ticks]}" 1000000000 "${after[time_ns]}"
	mode "$top" 1
	remove_dm top delay
}

a_device_goes_in_mode_2_under_load() {
	local round
	for round in 1 2; do
		add_dm linear "0 32768 linear /dev/one 0"
		mode "$dm" 2
		start_load "$dm"
		sleep 0.3
		# Puts an error table in; fio gives up, and the device goes.
		dmsetup remove --force --noudevsync linear || :
		stop_load
		eventually 10 remove_gone linear
	done
	eventually 5 hooks_are_gone
}

remove_gone() {
	! dmsetup info "$1" >/dev/null 2>&1 || dmsetup remove --noudevsync "$1" 2>/dev/null
}

the_module_goes_in_mode_2_under_load() {
	local round
	add_dm linear "0 32768 linear /dev/one 0"
	# zram is done with each write before it returns, so the load on it is never deep.
	while :; do write_blocks zram0 100; done &
	local writer=$!
	start_load "$dm"
	for round in 1 2; do
		mode "$dm" 2
		mode zram0 2
		sleep 0.2
		unload_module
		hooks_are_gone
		load_module
	done
	stop_load
	kill $writer
	wait $writer || :
	remove_dm linear
}

clean_up() {
	dmsetup remove_all --force 2>/dev/null
	modprobe -qr zram
	remove_null one
}

mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
clean_up
load_module
modprobe -a dm-mod dm-delay
modprobe zram num_devices=1
echo 16M >"$(sysfs zram0)/disksize"
add_null one size=16
ktap_print_header
ktap_set_plan 3
ktap_test_result modes_change_with_io_in_flight modes_change_with_io_in_flight
ktap_test_result a_device_goes_in_mode_2_under_load a_device_goes_in_mode_2_under_load
ktap_test_result the_module_goes_in_mode_2_under_load the_module_goes_in_mode_2_under_load
clean_up
ktap_finished
