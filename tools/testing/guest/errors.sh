#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# I/O that fails, times out or is put back, in mode 2: each counts once, as an error if it
# is one, and nothing stays in flight. On the kernel whose null_blk can be told to do so.
. "$(dirname "$0")/lib.sh"

READS=40

# inject KIND TIMES: every second request of null_blk "faulty" has a "timeout" or is put
# back ("requeue"), so many times.
inject() {
	local directory=/sys/kernel/config/nullb/faulty/$1_inject
	echo 0 >"$directory/verbose"
	echo 2 >"$directory/interval"
	echo "$2" >"$directory/times"
	echo 100 >"$directory/probability"
}

# after DEVICE COMMAND...: COMMAND, whose errors are expected; then the counts are the
# kernel's, and nothing is in flight. Sets "now".
after() {
	local -A was=() kernel_was=() kernel_now=()
	local device=$1
	shift
	mode "$device" 2
	ours was "$device"
	kernels kernel_was "$device"
	"$@" 2>/dev/null || :
	eventually 20 is_idle "$device"
	ours now "$device"
	kernels kernel_now "$device"
	since now was
	since kernel_now kernel_was
	agrees now kernel_now read write
	same "in_flight" "${now[in_flight]}" 0
	[ -z "${now[device_in_flight]:-}" ] || same "device_in_flight" "${now[device_in_flight]}" 0
	within "io_ticks" "${now[io_ticks]}" 1 "${now[time_ns]}"
	within "time_in_queue" "${now[time_in_queue]}" "${now[io_ticks]}" $((now[io_ticks] * 2))
	no_anomalies "$device"
	mode "$device" 1
	no_anomalies "$device"
}

# Reads so many blocks, two at once, and those that fail besides.
read_on() { # DEVICE [DD-OPTION...]
	local device=$1 half pids=()
	shift
	for half in 1 2; do
		dd if="/dev/$device" of=/dev/null bs=4096 count=$((READS / 2)) iflag=direct \
			conv=noerror status=none "$@" &
		pids+=($!)
	done
	wait "${pids[@]}"
}

# The kernel counts the sectors of those that failed, too.
reads_were() { # ERRORS, and READS without
	counted now read.ios=$((READS + $1)) read.sectors=$(((READS + $1) * 8))
	same "errors" "${now[errors]}" "$1"
}

timeouts_are_errors() {
	inject timeout 3
	echo 500 >"$(sysfs faulty)/queue/io_timeout"
	after faulty read_on faulty
	inject timeout 0
	reads_were 3
	# Half a second each, and two at once at most.
	within "io_ticks" "${now[io_ticks]}" 1000000000 "${now[time_ns]}"
}

put_back() {
	requeues=$(events block_rq_requeue read_on faulty)
}

# The driver puts them back before it has them, so they are no requeues.
put_back_requests_count_once() {
	local requeues
	inject requeue 10
	after faulty put_back
	inject requeue 0
	reads_were 0
	within "requeue events" "$requeues" 10 20
	same "requeues" "${now[requeues]}" 0
}

scsi_fails() { # OPTS EVERY-NTH
	echo "$1" >/sys/bus/pseudo/drivers/scsi_debug/opts
	echo "$2" >/sys/bus/pseudo/drivers/scsi_debug/every_nth
}

# Ten sectors from 0x1234 on cannot be read, of which these are the last: the first block of
# each reader.
medium_errors_count() {
	scsi_fails 2 1
	after "$scsi" read_on "$scsi" skip=583
	scsi_fails 0 0
	reads_were 2
}

# The same blocks through a partition, which begins at sector 2048.
errors_of_a_partition_are_its_disks_too() {
	local -A part=() part_was=()
	ours part_was "${scsi}1"
	scsi_fails 2 1
	after "$scsi" read_on "${scsi}1" skip=327
	scsi_fails 0 0
	reads_were 2
	ours part "${scsi}1"
	since part part_was
	counted part read.ios=$((READS + 2)) read.sectors=$(((READS + 2) * 8))
	same "errors of the partition" "${part[errors]}" 2
}

# A trace says how many there are: a window in the middle of reads, some of which fail.
a_trace_has_the_same_errors() {
	local reader found
	mode "$scsi" 2
	scsi_fails 2 1
	(until [ -e "$stop" ]; do read_on "$scsi" skip=583 2>/dev/null || :; done) &
	reader=$!
	found=$(blkacct check --live "$scsi" --seconds 2) || echo "status $?"
	touch "$stop"
	wait $reader
	scsi_fails 0 0
	mode "$scsi" 1
	echo "$found"
	same "errors, and the verdict" "$(awk '$1 == "errors" { print ($2 > 0), $NF }' <<<"$found")" "1 ok"
}

# The error handler aborts the command, and it is issued again.
scsi_timeouts_count_once() {
	echo 1 >"$(sysfs "$scsi")/device/timeout"
	scsi_fails 4 20
	after "$scsi" read_on "$scsi"
	scsi_fails 0 0
	reads_were 0
	within "requeues" "${now[requeues]}" 1 "$READS"
	within "io_ticks" "${now[io_ticks]}" 1000000000 "${now[time_ns]}"
}

# On a bio-based disk, whose errors nobody counts: those of the disk below, and those that
# come before the driver has returned.
bios_that_fail_count_as_the_kernel_counts_them() {
	add_dm linear "0 $(sectors "$scsi") linear /dev/$scsi 0"
	scsi_fails 2 1
	after "$dm" read_on "$dm" skip=583
	scsi_fails 0 0
	counted now read.ios=$((READS + 2)) read.sectors=$(((READS + 2) * 8))
	remove_dm linear
	add_dm flakey "0 $(sectors under) flakey /dev/under 0 0 3600 1 error_writes"
	after "$dm" write_each "$dm"
	counted now write.ios=$READS write.sectors=$((READS * 8))
	remove_dm flakey
	eventually 10 hooks_are_gone
	no_anomalies "$scsi" under
}

write_each() { # DEVICE
	local number
	for ((number = 0; number < READS; number++)); do
		write_blocks "$1" 1 || :
	done
}

clean_up() {
	remove_null faulty under
	remove_scsi
}

load_module
declare -A now=()
stop=$(mktemp -u)
add_null faulty submit_queues=2
add_null under
scsi=$(add_scsi 1 ndelay=1000000)
sfdisk -q "/dev/$scsi" <<<"start=2048"
# What one reader wants next can be merged with what the other wants.
echo 2 | tee "$(sysfs "$scsi")/queue/nomerges" "$(sysfs faulty)/queue/nomerges" >/dev/null
ktap_print_header
ktap_set_plan 7
ktap_test_result timeouts_are_errors timeouts_are_errors
ktap_test_result put_back_requests_count_once put_back_requests_count_once
ktap_test_result medium_errors_count medium_errors_count
ktap_test_result errors_of_a_partition_are_its_disks_too errors_of_a_partition_are_its_disks_too
ktap_test_result a_trace_has_the_same_errors a_trace_has_the_same_errors
ktap_test_result scsi_timeouts_count_once scsi_timeouts_count_once
ktap_test_result bios_that_fail_count_as_the_kernel_counts_them bios_that_fail_count_as_the_kernel_counts_them
clean_up
unload_module
ktap_finished
