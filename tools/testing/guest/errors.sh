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

# after_reads DEVICE COUNTS COMMAND...: does READS reads by COMMAND, whose errors are
# expected; then the counts are these and the kernel's, and nothing is in flight. Sets "now".
after_reads() {
	local -A was=() kernel_was=() kernel_now=()
	local device=$1 counts=$2
	shift 2
	mode "$device" 2
	ours was "$device"
	kernels kernel_was "$device"
	"$@" 2>/dev/null || :
	eventually 20 is_idle "$device"
	ours now "$device"
	kernels kernel_now "$device"
	since now was
	since kernel_now kernel_was
	# shellcheck disable=SC2086 # several
	counted now $counts
	agrees now kernel_now
	[ -z "${now[device_in_flight]}" ] || same "device_in_flight" "${now[device_in_flight]}" 0
	within "io_ticks" "${now[io_ticks]}" 1 "${now[time_ns]}"
	within "time_in_queue" "${now[time_in_queue]}" "${now[io_ticks]}" $((now[io_ticks] * 2))
	no_anomalies "$device"
	mode "$device" 1
	no_anomalies "$device"
}

# Two at once.
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

timeouts_are_errors() {
	inject timeout 3
	echo 500 >"$(sysfs faulty)/queue/io_timeout"
	after_reads faulty "read.ios=$READS read.sectors=$((READS * 8 - 24))" read_on faulty
	same "errors" "${now[errors]}" 3
	# Half a second each, and two at once at most.
	within "io_ticks" "${now[io_ticks]}" 1000000000 "${now[time_ns]}"
	inject timeout 0
}

put_back() {
	requeues=$(events block_rq_requeue read_on faulty)
}

# The driver puts them back before it has them, so they are no requeues.
put_back_requests_count_once() {
	local requeues
	inject requeue 10
	after_reads faulty "read.ios=$READS read.sectors=$((READS * 8))" put_back
	within "requeue events" "$requeues" 10 20
	same "requeues" "${now[requeues]}" 0
	same "errors" "${now[errors]}" 0
	inject requeue 0
}

scsi_fails() { # OPTS EVERY-NTH
	echo "$1" >/sys/bus/pseudo/drivers/scsi_debug/opts
	echo "$2" >/sys/bus/pseudo/drivers/scsi_debug/every_nth
}

# Ten sectors from 0x1234 on cannot be read.
medium_errors_count() {
	scsi_fails 2 1
	after_reads "$scsi" "read.ios=$READS read.sectors=$((READS * 8))" read_on "$scsi" skip=582
	within "errors" "${now[errors]}" 2 4
	scsi_fails 0 0
}

# The error handler aborts the command, and it is issued again.
scsi_timeouts_count_once() {
	echo 1 >"$(sysfs "$scsi")/device/timeout"
	scsi_fails 4 20
	after_reads "$scsi" "read.ios=$READS read.sectors=$((READS * 8))" read_on "$scsi"
	scsi_fails 0 0
	same "errors" "${now[errors]}" 0
	within "requeues" "${now[requeues]}" 1 "$READS"
	within "io_ticks" "${now[io_ticks]}" 1000000000 "${now[time_ns]}"
}

bios_that_fail_count_as_the_kernel_counts_them() {
	local kind
	for kind in error_reads error_writes; do
		add_dm flakey "0 $(sectors under) flakey /dev/under 0 0 3600 1 $kind"
		after_reads "$dm" "read.ios=$READS read.sectors=$((READS * 8))" read_on "$dm"
		remove_dm flakey
	done
	eventually 10 hooks_are_gone
	no_anomalies under
}

clean_up() {
	remove_null faulty under
	remove_scsi
}

load_module
declare -A now=()
add_null faulty submit_queues=2
add_null under
scsi=$(add_scsi 1 ndelay=1000000)
ktap_print_header
ktap_set_plan 5
ktap_test_result timeouts_are_errors timeouts_are_errors
ktap_test_result put_back_requests_count_once put_back_requests_count_once
ktap_test_result medium_errors_count medium_errors_count
ktap_test_result scsi_timeouts_count_once scsi_timeouts_count_once
ktap_test_result bios_that_fail_count_as_the_kernel_counts_them bios_that_fail_count_as_the_kernel_counts_them
clean_up
unload_module
ktap_finished
