# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the guest tests share: the module, the numbers it shows and those the kernel
# shows, and checks on them. Sourced; disks.sh has the disks and the load on them.

# shellcheck source=tools/testing/ktap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../ktap.sh"
# shellcheck source=tools/testing/guest/disks.sh
. "$(dirname "${BASH_SOURCE[0]}")/disks.sh"

GUEST_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
MODULE=${BLKACCT_MODULE:-$GUEST_DIR/../../../build/$BLKACCT_KERNEL/blkacct.ko}

load_module() {
	[ -d /sys/module/blkacct ] || insmod "$MODULE"
}

unload_module() {
	[ ! -d /sys/module/blkacct ] || rmmod blkacct
}

# sysfs DEVICE: its directory, for a disk or a partition.
sysfs() {
	echo "/sys/class/block/$1"
}

mode() { # DEVICE [0|1|2]: shows the mode, or sets it
	if [ $# = 1 ]; then
		cat "$(sysfs "$1")/blkacct/iostats"
	else
		echo "$2" >"$(sysfs "$1")/blkacct/iostats"
	fi
}

stat_names=(time_ns io_ticks time_in_queue in_flight)
for group in read write discard flush zone_append zone_mgmt write_zeroes drv_in drv_out; do
	for name in ios merges sectors nsecs; do
		stat_names+=("$group.$name")
	done
done
stat_names+=(errors device_ticks device_time_in_queue device_in_flight requeues)
for group in read write discard flush zone_append zone_mgmt write_zeroes drv_in drv_out; do
	stat_names+=("$group.device_nsecs")
done
# Of the kernel's "stat" file.
kernel_names=(read.ios read.merges read.sectors read.ms
	write.ios write.merges write.sectors write.ms in_flight io_ticks time_in_queue
	discard.ios discard.merges discard.sectors discard.ms flush.ios flush.ms)

# take ARRAY FILE NAME...: reads a line of numbers into an associative array. Names
# beyond its end have none.
take() {
	local -n into=$1
	local -a words
	local file=$2 at=0 name
	shift 2
	read -ra words <"$file"
	for name; do
		[ "$at" -lt "${#words[@]}" ] || break
		into["$name"]=${words[at]}
		at=$((at + 1))
	done
}

ours() { # ARRAY DEVICE
	take "$1" "$(sysfs "$2")/blkacct/stat" "${stat_names[@]}"
}

kernels() { # ARRAY DEVICE
	take "$1" "$(sysfs "$2")/stat" "${kernel_names[@]}"
}

# since NEW OLD: takes every number of OLD, an associative array, from that of NEW.
since() {
	local -n new=$1 old=$2
	local name
	for name in "${!new[@]}"; do
		new["$name"]=$((${new["$name"]} - ${old["$name"]}))
	done
}

# same WHAT GOT WANTED
same() {
	[ "$2" = "$3" ] && return
	echo "$1: got $2, wanted $3"
	return 1
}

# within WHAT GOT LOWEST HIGHEST
within() {
	[ "$2" -ge "$3" ] && [ "$2" -le "$4" ] && return
	echo "$1: got $2, wanted $3 to $4"
	return 1
}

# counted ARRAY NAME=NUMBER...: each of these is so, and every count that is not
# named is 0. The times are not looked at.
counted() {
	local -n have=$1
	local -A wanted=()
	local each name
	local array=$1
	shift
	for each; do
		wanted[${each%%=*}]=${each#*=}
	done
	for name in "${stat_names[@]}"; do
		case $name in
		*.ios | *.merges | *.sectors | in_flight)
			same "$array $name" "${have[$name]}" "${wanted[$name]:-0}"
			;;
		esac
	done
}

# agrees OURS KERNELS [GROUP...]: the counts of these groups are the kernel's.
agrees() {
	local -n mine=$1 its=$2
	local group name
	shift 2
	for group in "${@:-read}"; do
		for name in ios merges sectors; do
			same "$group.$name against the kernel's" "${mine[$group.$name]}" "${its[$group.$name]}"
		done
	done
}

# no_anomalies DEVICE...: nothing in flight, by us or by the kernel, and no anomaly.
no_anomalies() {
	local device
	for device; do
		same "$device in_flight" "$(xargs <"$(sysfs "$device")/blkacct/in_flight")" "0 0"
		same "$device inflight" "$(xargs <"$(sysfs "$device")/inflight")" "0 0"
		# Late starts are the driver's, or those of an emulated CPU that stands still.
		same "$device anomalies" "$(grep -v late_starts "$(sysfs "$device")/blkacct/anomalies" | xargs)" \
			"clamped 0 orphans 0 lost_starts 0 bound_ns 0"
	done
}

# counts_as_ever DEVICE...: each is idle soon, and then counts exactly, as if nothing
# had happened.
counts_as_ever() {
	local device
	local -A was=() now=()
	for device; do
		eventually 10 is_idle "$device"
		mode "$device" 2
		no_anomalies "$device"
		ours was "$device"
		read_blocks "$device" 10
		ours now "$device"
		since now was
		counted now read.ios=10 read.sectors=80
		no_anomalies "$device"
	done
}

# begin DEVICE and end DEVICE are put around what is measured on a device in mode 2, which
# leaves nothing in flight: "got" is what we counted of it, "kernel" what the kernel did.
declare -A got_before=() got=() kernel_before=() kernel=()

begin() {
	mode "$1" 2
	kernels kernel_before "$1"
	ours got_before "$1"
}

end() {
	ours got "$1"
	kernels kernel "$1"
	no_anomalies "$1"
	same "in flight" "${got[in_flight]}" 0
	same "at the driver" "${got[device_in_flight]:-0}" 0
	since got got_before
	since kernel kernel_before
}

# close WHAT GOT WANTED PERCENT [NS]: off by PERCENT and NS at most. On a slow kernel, with
# more time between two readings of the clock, by BLKACCT_PATIENCE times that.
close() {
	local off=$((($3 * $4 / 100 + ${5:-0}) * ${BLKACCT_PATIENCE:-1}))
	within "$1" "$2" $(($3 - off)) $(($3 + off))
}

# errno_of FILE TEXT: what a write of TEXT says, "" if it is taken.
errno_of() {
	local said
	said=$( (printf '%s' "$2" >"$1") 2>&1) || :
	echo "${said##*: }"
}

KMEMLEAK=/sys/kernel/debug/kmemleak

# test_for_leaks: the test that a file ends with, where the kernel looks for leaks.
test_for_leaks() {
	if [ -e $KMEMLEAK ]; then
		ktap_test_result nothing_is_left_behind no_leaks
	else
		ktap_test_skip nothing_is_left_behind "this kernel does not look for leaks"
	fi
}

# no_leaks: kmemleak finds nothing. It takes an object for lost when
# two scans agree, and only 5 s after it was made.
no_leaks() {
	sleep 6
	echo scan >$KMEMLEAK
	echo scan >$KMEMLEAK
	same "unreferenced" "$(cat $KMEMLEAK)" ""
}

# forget_leaks: those so far are not looked for any more.
forget_leaks() {
	[ -e $KMEMLEAK ] || return 0
	no_leaks >/dev/null || :
	echo clear >$KMEMLEAK
}

# hooks_are_gone: those on what bio-based drivers call.
hooks_are_gone() {
	! grep -q bdev_ /sys/kernel/tracing/enabled_functions
}

# ftrace_can_be_off: kernels from 7.3 on do not let it be switched off any more.
ftrace_can_be_off() {
	local said
	said=$(errno_of /proc/sys/kernel/ftrace_enabled 0)
	echo 1 >/proc/sys/kernel/ftrace_enabled
	[ "$said" != "Operation not supported" ]
}

# eventually SECONDS COMMAND...: waits until COMMAND succeeds, at most so long; a slow kernel
# has BLKACCT_PATIENCE times as long.
eventually() {
	local end=$((SECONDS + $1 * ${BLKACCT_PATIENCE:-1}))
	shift
	until "$@"; do
		if [ "$SECONDS" -gt "$end" ]; then
			echo "waited in vain for: $*"
			return 1
		fi
		sleep 0.05
	done
}

# events EVENT COMMAND...: runs COMMAND and prints how often block/EVENT came.
events() {
	local trace=/sys/kernel/tracing/instances/blkacct_test event=$1 status=0
	shift
	mkdir -p $trace
	echo >$trace/trace
	echo 1 >"$trace/events/block/$event/enable"
	"$@" >&2 || status=$?
	echo 0 >"$trace/events/block/$event/enable"
	grep -c " $event: " $trace/trace || :
	rmdir $trace
	return $status
}
