#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A disk whose requests do not end for long: a switch gives up after a bounded wait,
# says so, and leaves everything as it was.
. "$(dirname "$0")/lib.sh"

# The module waits 5 s for a queue to drain. In jiffies, of which there are 250 a second.
hang_jiffies=3000
hang_ns=$((hang_jiffies * 4000000))

refuses() { # DEVICE TO
	local began=$SECONDS from
	from=$(mode "$1")
	same "$1: $from to $2" "$(errno_of "$(sysfs "$1")/blkacct/iostats" "$2")" \
		"Device or resource busy"
	within "$1: the wait" $((SECONDS - began)) 4 12
	same "$1: mode" "$(mode "$1")" "$from"
	same "$1: the kernel's iostats" "$(cat "$(sysfs "$1")/queue/iostats")" 1
}

reads_in_flight() { # DEVICE NUMBER
	local -A now=()
	kernels now "$1"
	[ "${now[in_flight]}" = "$2" ]
}

# One read hangs, a switch fails, a second read is let in, both end.
a_hung_disk_is_busy() { # DEVICE FROM TO
	local -A now=()
	mode "$1" "$2"
	read_blocks "$1" 1 &
	eventually 5 reads_in_flight "$1" 1
	refuses "$1" "$3"
	read_blocks "$1" 1 &
	eventually 5 reads_in_flight "$1" 2
	if [ "$2" = 2 ]; then
		ours now "$1"
		counted now in_flight=2
		within "busy while it hangs" "${now[io_ticks]}" 4000000000 "${now[time_ns]}"
	fi
	wait
	ours now "$1"
	if [ "$2" = 2 ]; then
		counted now read.ios=2 read.sectors=16
		within "nsecs" "${now[read.nsecs]}" $((2 * hang_ns)) $((4 * hang_ns))
	else
		counted now
	fi
	no_anomalies "$1"
	mode "$1" "$3"
	same "mode" "$(mode "$1")" "$3"
}

first_said() { # STATUS
	cat "$output"
	return "$1"
}

remove_scsi
load_module
# The delay comes when the disks are there: each looks for partitions first.
read -r one other <<<"$(add_scsi 2 ndelay=10000)"
echo $hang_jiffies >/sys/bus/pseudo/drivers/scsi_debug/delay
ktap_print_header
ktap_set_plan 2
# Both at once, as it takes so long.
output=$(mktemp)
(
	set -e
	a_hung_disk_is_busy "$one" 1 2
) >"$output" 2>&1 &
first=$!
ktap_test_result leaving_2_is_refused a_hung_disk_is_busy "$other" 2 1
wait "$first"
ktap_test_result entering_2_is_refused first_said $?
remove_scsi
ktap_finished
