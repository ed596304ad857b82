#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Loads from whose parameters follows what must be counted, beside those of driver.sh and
# of `make demo`. For a guest whose time counts instructions (guest-tests), where what the
# system adds to a request is some us.
. "$(dirname "$0")/lib.sh"

declare -A before=() got=()

begin() { # DEVICE
	mode "$1" 2
	ours before "$1"
}

end() { # DEVICE
	ours got "$1"
	since got before
	no_anomalies "$1"
	same "in flight" "${got[in_flight]}" 0
}

# A read that takes 8 s: the disk is busy all the while, and a reader sees it.
a_hung_disk_is_busy_to_the_nanosecond() {
	local reader second
	mode hung 2
	read_blocks hung 1 &
	reader=$!
	eventually 10 in_flight hung 1
	for second in 1 2 3; do
		ours before hung
		sleep 1
		ours got hung
		same "in flight" "${got[in_flight]}" 1
		since got before
		same "busy in second $second" "${got[io_ticks]}" "${got[time_ns]}"
		same "queue in second $second" "${got[time_in_queue]}" "${got[time_ns]}"
	done
	wait $reader
	no_anomalies hung
}

in_flight() { # DEVICE NUMBER
	local -A now=()
	ours now "$1"
	[ "${now[in_flight]}" = "$2" ]
}

# Commands that are sent past the block layer's accounting, and I/O beside them.
passthrough_is_no_io() {
	local at batch=
	# So that a write with dsync is one request.
	echo "write through" >"$(sysfs "$scsi")/queue/write_cache"
	begin "$scsi"
	"$GUEST_DIR/sgio.py" "$scsi" 1000 100
	write_blocks "$scsi" 100 4096 dsync
	for at in {0..99}; do
		batch+=,$scsi:w:$((at * 8)):8
	done
	"$GUEST_DIR/aio.py" "${batch#,}"
	end "$scsi"
	same "reads" "${got[read.ios]}" 0
	same "driver's commands" $((${got[drv_in.ios]} + ${got[drv_out.ios]})) 0
	same "writes, merged or not" $((${got[write.ios]} + ${got[write.merges]})) 200
	within "merges" "${got[write.merges]}" 50 99
	same "sectors" "${got[write.sectors]}" 1600
}

# As "readers.py" has it: under 1 ms a disk, and 5 % of a reader's rate.
reading_256_disks_stalls_nobody() {
	local number
	modprobe -r null_blk
	modprobe null_blk nr_devices=256 irqmode=2 completion_nsec=1000000 submit_queues=1 gb=1
	for number in {0..255}; do
		mode nullb$number 2
	done
	"$GUEST_DIR/../evidence/readers.py" nullb0
}

clean_up() {
	remove_null hung
	remove_scsi
	modprobe -r null_blk
}

clean_up
load_module
add_null hung submit_queues=1 completion_nsec=8000000000
scsi=$(add_scsi 1 ndelay=10000)
ktap_print_header
ktap_set_plan 3
ktap_test_result a_hung_disk_is_busy_to_the_nanosecond a_hung_disk_is_busy_to_the_nanosecond
ktap_test_result passthrough_is_no_io passthrough_is_no_io
remove_null hung
ktap_test_result reading_256_disks_stalls_nobody reading_256_disks_stalls_nobody
clean_up
ktap_finished
