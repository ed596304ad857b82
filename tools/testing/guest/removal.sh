#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Whatever goes away under load, nothing is left in flight and nothing is counted
# wrong: the module, a disk, the partitions, mode 2 itself.
. "$(dirname "$0")/lib.sh"

the_module_goes_under_load() {
	local round
	start_load one two
	for round in {1..5}; do
		mode one 2
		mode two 2
		sleep 0.2
		rmmod blkacct
		sleep 0.1
		load_is_on one two
		insmod "$MODULE"
	done
	stop_load
	counts_as_ever one two
}

modes_flip_under_load() {
	local end next=0 flips=0
	start_load one two
	end=$((SECONDS + 10))
	# Six at least, however slow the machine is.
	while [ $SECONDS -lt $end ] || [ $flips -lt 6 ]; do
		mode one $((next % 3))
		mode two $(((next + 1) % 3))
		next=$((next + 2)) flips=$((flips + 2))
		sleep 0.1
	done
	mode one 1
	mode two 1
	load_is_on one two
	stop_load
	within "mode changes" $flips 6 200
	no_anomalies one two
	counts_as_ever one two
}

partitions_are_read_again_under_load() {
	local round
	local -A disk=() partition=()
	mode one 2
	start_load one
	for round in {1..5}; do
		sleep 0.1
		blockdev --rereadpt /dev/one
		same "the new partition's mode" "$(mode one1)" 2
	done
	read_blocks one2 10
	ours partition one2
	# The partition's account is new: the load is on the disk.
	counted partition read.ios=10 read.sectors=80
	stop_load
	ours disk one
	within "reads of the disk" "${disk[read.ios]}" 11 9223372036854775807
	no_anomalies one2
	counts_as_ever one
}

a_disk_is_switched_off_under_load() {
	mode two 2
	start_load two
	remove_null two
	stop_load
	[ ! -d "$(sysfs two)" ]
	counts_as_ever one
	add_null two
	same "mode of a new disk" "$(mode two)" 1
	counts_as_ever two
}

a_scsi_disk_is_deleted_under_load() {
	local scsi
	scsi=$(add_scsi 1 ndelay=1000000 max_queue=64)
	mode "$scsi" 2
	start_load "$scsi"
	echo 1 >"$(sysfs "$scsi")/device/delete"
	[ ! -d "$(sysfs "$scsi")" ]
	stop_load
	remove_scsi
	counts_as_ever one
}

clean_up() {
	remove_null one two
	remove_scsi
}

clean_up
load_module
# Long enough for a queue that is always deep.
add_null one memory_backed=1 completion_nsec=2000000
partition one
add_null two completion_nsec=2000000
ktap_print_header
ktap_set_plan 5
ktap_test_result the_module_goes_under_load the_module_goes_under_load
ktap_test_result modes_flip_under_load modes_flip_under_load
ktap_test_result partitions_are_read_again_under_load partitions_are_read_again_under_load
ktap_test_result a_disk_is_switched_off_under_load a_disk_is_switched_off_under_load
ktap_test_result a_scsi_disk_is_deleted_under_load a_scsi_disk_is_deleted_under_load
clean_up
ktap_finished
