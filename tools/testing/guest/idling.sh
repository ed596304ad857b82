#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A scheduler that keeps the disk idle while requests wait, for the sake of fairness: two
# writers, each in a cgroup of its own, and each with its next write behind its last. bfq
# holds the disk for the one whose turn it is; io_ticks - device_ticks is what that costs,
# and by how much fewer writes get done follows from it.
. "$(dirname "$0")/lib.sh"

US=1000
SECONDS_EACH=2
declare -A before=() got=()
MOUNTED=/run/idling
GROUPS_DIR=/sys/fs/cgroup

# A file's writes count for the group that made it dirty first, so it is made in there.
make_file() { # GROUP
	echo $BASHPID >"$GROUPS_DIR/$1/cgroup.procs"
	dd if=/dev/zero of="$MOUNTED/$1" bs=4k count=256 conv=fsync status=none
}

# writer GROUP: writes over the group's file, block by block, each time waiting until it is
# on the disk.
writer() {
	echo $BASHPID >"$GROUPS_DIR/$1/cgroup.procs"
	while [ ! -e "$MOUNTED/stop" ]; do
		dd if=/dev/zero of="$MOUNTED/$1" bs=4k count=256 conv=notrunc oflag=dsync status=none
	done
}

# measure SCHEDULER [NAME=VALUE...]: what two writers get done in SECONDS_EACH with its
# settings; leaves it in "got".
measure() {
	local scheduler=$1 setting one two
	shift
	echo "$scheduler" >"$(sysfs disk)/queue/scheduler"
	for setting; do
		echo "${setting#*=}" >"$(sysfs disk)/queue/iosched/${setting%%=*}"
	done
	writer one &
	one=$!
	writer two &
	two=$!
	sleep 1
	ours before disk
	sleep $SECONDS_EACH
	ours got disk
	: >$MOUNTED/stop
	wait $one $two
	rm $MOUNTED/stop
	sync -f $MOUNTED
	since got before
	eventually 10 is_idle disk
	no_anomalies disk
	echo "$scheduler $*: ${got[write.ios]} writes, $((got[io_ticks] / US)) us busy, driver" \
		"$((got[device_ticks] / US)) us, idle while queued $(idle_share) per mille"
}

# Of the busy time, in per mille.
idle_share() {
	echo $(((got[io_ticks] - got[device_ticks]) * 1000 / got[io_ticks]))
}

# The writes that are done in a second of the driver's time, by what was measured last.
per_driver_second() {
	local writes=${got[write.ios]}
	echo $((writes * 1000000 / (got[device_ticks] / US)))
}

without_idling() { # SCHEDULER [NAME=VALUE...]
	measure "$@"
	# The time from an end to the next issue is also one in which requests wait.
	within "idle while queued" "$(idle_share)" 0 100
	deadline_writes=${got[write.ios]}
}

declare deadline_writes
schedulers_differ_by_what_they_idle() {
	local rate predicted
	without_idling none
	without_idling mq-deadline
	rate=$(per_driver_second)
	measure bfq low_latency=1 slice_idle=8
	within "idle while queued" "$(idle_share)" 200 1000
	# The driver takes the same for each write, so what it is not given is what is missing.
	predicted=$((rate * (got[device_ticks] / US) / 1000000))
	within "writes, against what is predicted" "${got[write.ios]}" $((predicted * 95 / 100)) \
		$((predicted * 105 / 100))
	within "writes, against mq-deadline's" "${got[write.ios]}" 0 $((deadline_writes * 7 / 10))
	measure bfq low_latency=0 slice_idle=0
	within "idle while queued without slice_idle" "$(idle_share)" 0 100
}

clean_up() {
	umount $MOUNTED 2>/dev/null
	remove_null disk
}

set_up() {
	modprobe -a bfq mq-deadline
	# One request at a time, for about as long as a writer takes to send its next.
	add_null disk memory_backed=1 size=128 submit_queues=1 hw_queue_depth=1 completion_nsec=$((100 * US))
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/disk
	mkdir -p $MOUNTED
	mount -o noatime /dev/disk $MOUNTED
	mountpoint -q $GROUPS_DIR || mount -t cgroup2 none $GROUPS_DIR
	echo +io +memory >$GROUPS_DIR/cgroup.subtree_control
	mkdir -p $GROUPS_DIR/one $GROUPS_DIR/two
	(make_file one)
	(make_file two)
	mode disk 2
}

clean_up
load_module
ktap_print_header
ktap_set_plan 2
ktap_test_result two_writers_on_ext4 set_up
ktap_test_result schedulers_differ_by_what_they_idle schedulers_differ_by_what_they_idle
clean_up
ktap_finished
