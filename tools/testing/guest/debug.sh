#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module at work on the kernel with the debug options, which has no modules but
# null_blk and scsi_debug.
. "$(dirname "$0")/lib.sh"

# start_readers DEVICE...: two of each device, until stop_readers or an error. This
# kernel has not what fio needs.
start_readers() {
	local device number
	readers=()
	for device; do
		for number in 1 2; do
			while read_blocks "$device" 400; do :; done 2>/dev/null &
			readers+=($!)
		done
	done
}

stop_readers() {
	kill "${readers[@]}" 2>/dev/null || :
	wait "${readers[@]}" 2>/dev/null || :
	# The last that each has begun goes on a little.
	eventually 20 no_reader
}

no_reader() {
	! pgrep -x dd >/dev/null
}

# Everything there is, with or without the module.
work() {
	local scsi flip
	add_null null_one submit_queues=2 memory_backed=1 completion_nsec=8000000
	partition null_one
	scsi=$(add_scsi 1 ndelay=8000000 max_queue=64)
	add_dm delay "0 32768 delay /dev/null_one 0 8"
	[ -z "$1" ] || "$1" null_one "$scsi" "$dm"
	start_readers "$scsi" "$dm" null_one
	write_blocks null_one 50
	for flip in 1 2 3 4 5 6; do
		[ -z "$1" ] || "$1" null_one "$scsi" "$dm"
		sleep 0.2
	done
	dmsetup remove --force --noudevsync delay || :
	stop_readers
	eventually 10 dm_is_gone delay
	remove_null null_one
	remove_scsi
}

dm_is_gone() { # NAME
	! dmsetup info "$1" >/dev/null 2>&1 || dmsetup remove --noudevsync "$1" 2>/dev/null
}

# Each device to the next mode: 2, 0, 1 and again.
next_mode() { # DEVICE...
	local device
	for device; do
		mode "$device" $((($(mode "$device") + 1) % 3))
		cat "$(sysfs "$device")"/blkacct/{stat,in_flight,anomalies,classic} >/dev/null
	done
}

# What the kernel itself loses on the way is not the module's. It becomes known here, and
# code that runs but once has run.
the_kernel_alone() {
	work ""
	forget_leaks
}

the_module_comes_works_and_goes() {
	load_module
	work next_mode
	unload_module
}

# One is unloaded while its disks are in mode 2 and busy.
the_module_goes_under_load() {
	load_module
	add_null null_one submit_queues=2 memory_backed=1 completion_nsec=8000000
	mode null_one 2
	start_readers null_one
	sleep 0.5
	unload_module
	stop_readers
	remove_null null_one
}

ktap_print_header
ktap_set_plan 4
ktap_test_result the_kernel_alone the_kernel_alone
ktap_test_result the_module_comes_works_and_goes the_module_comes_works_and_goes
ktap_test_result the_module_goes_under_load the_module_goes_under_load
test_for_leaks
ktap_finished
