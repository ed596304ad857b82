#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# `blkacct check --live` of a module that is right, under what is hard to read from a trace. Each
# load runs over both edges of the window; where it has a known number of I/O, it is wholly inside.
# For a guest whose time counts instructions (guest-tests).
. "$(dirname "$0")/lib.sh"

INSTANCES=/sys/kernel/tracing/instances

# window DISK SECONDS [OPTION...]: begins a check, and returns when its window has begun.
window() {
	local disk=$1 seconds=$2
	shift 2
	blkacct check --live "$disk" --seconds "$seconds" --json "$@" >check.json 2>check.err &
	check=$!
	trap 'kill $check 2>/dev/null || :' EXIT
	eventually 20 is_traced "$check"
	# It traces for a tenth of a second first.
	sleep 0.3
}

is_traced() { # PID
	local switch
	for switch in "$INSTANCES/blkacct-$1"*/tracing_on; do
		[ "$(cat "$switch" 2>/dev/null)" != 1 ] || return 0
	done
	return 1
}

# verdict STATUS: the check ends so; what it says besides is shown if not.
verdict() {
	local status=0
	wait "$check" || status=$?
	"$GUEST_DIR/live.py" check.json || :
	cat check.err
	same "status of the check" $status "$1"
}

# said NAME WHOM: a figure of the last check, of the truth's or of iostats2.
said() {
	"$GUEST_DIR/live.py" check.json "$1" "$2"
}

# under_load DISK SECONDS COMMAND...: COMMAND runs again and again, before and after as well.
under_load() {
	local disk=$1 seconds=$2
	shift 2
	repeat "$@" &
	load=$!
	trap 'touch stop; kill $check 2>/dev/null || :' EXIT
	eventually 20 has_done "$disk" 8
	window "$disk" "$seconds"
	verdict 0
	touch stop
	wait $load || :
	rm stop
}

repeat() { # COMMAND...
	until [ -e stop ]; do
		"$@" || :
	done
}

# The tool needs the CPU as well.
bursts() { # DISK
	read_blocks "$1" 1000
	sleep 0.01
}

has_done() { # DISK NUMBER
	local -A now=()
	kernels now "$1"
	[ $((${now[read.ios]} + ${now[write.ios]})) -ge "$2" ]
}

fio_on() { # DISK OPTION...
	fio --name=a --filename="/dev/$1" --direct=1 --bs=4k --ioengine=libaio --output=fio.out "${@:2}"
}

# Sixteen in flight and one at the driver: the others wait, and all that comes can merge.
one_at_the_driver_and_16_in_flight() {
	mode narrow 2
	under_load narrow 1 fio_on narrow --rw=randrw --iodepth=16 --number_ios=400
	within "ios" "$(said 'read ios' truth)" 1 1000
}

# Neighbours from behind: each joins the front of one that waits, which another one joins, and
# requests that have grown so meet.
merges_after_front_merges() {
	local batches=() at
	for at in {1..20}; do
		batches+=("narrow:w:$((at * 1024)):8,narrow:w:$((at * 1024 + 24)):8")
		batches+=("narrow:w:$((at * 1024 + 16)):8" "narrow:w:$((at * 1024 + 8)):8")
		batches+=("narrow:w:$((at * 1024 - 8)):8" "narrow:w:$((at * 1024 + 32)):8")
	done
	mode narrow 2
	under_load narrow 1 "$GUEST_DIR/aio.py" "${batches[@]}"
	within "merges" "$(said 'write merges' iostats2)" 20 100000
}

# A disk with a cache that cannot write through it: each dsync write is a flush sequence. Its data
# end where a plain one begins.
dsync_writers_beside_plain_ones() {
	mode cached 2
	under_load cached 1 fio_dsync_beside_plain
	within "flushes" "$(said 'flush device_nsecs' iostats2)" 1 10000000000
}

fio_dsync_beside_plain() {
	fio --filename=/dev/cached --direct=1 --bs=4k --ioengine=libaio --iodepth=4 --size=8m \
		--number_ios=60 --output=fio.out \
		--name=sync --rw=write:4k --sync=dsync \
		--name=plain --rw=write:4k --offset=4k \
		--name=both --rw=randwrite --sync=dsync
}

# An append begins at its zone's first sector and ends where it was written. A NVMe target hands
# them to the disk below it.
zone_appends_end_elsewhere() {
	local target=/sys/kernel/config/nvmet
	modprobe -a nvmet nvme-loop nvme-fabrics
	mkdir -p $target/subsystems/live/namespaces/1 $target/ports/1
	echo 1 >$target/subsystems/live/attr_allow_any_host
	echo /dev/zones >$target/subsystems/live/namespaces/1/device_path
	echo 1 >$target/subsystems/live/namespaces/1/enable
	echo loop >$target/ports/1/addr_trtype
	ln -s $target/subsystems/live $target/ports/1/subsystems/live
	echo transport=loop,nqn=live >/dev/nvme-fabrics
	eventually 10 compgen -G '/dev/ng*n1'
	mode zones 2
	window zones 1.5
	"$GUEST_DIR/append.py" /dev/ng*n1 4 100
	verdict 0
	same "appends" "$(said 'zone_append ios' iostats2)" 400
	same "appends in the trace" "$(said 'zone_append ios' truth)" 400
}

# A sector that cannot be read, in the middle of others: the command ends with part of it done,
# and is tried again for the rest.
medium_errors() {
	local debug=/sys/bus/pseudo/drivers/scsi_debug
	mode "$scsi" 2
	echo 2 >$debug/opts
	under_load "$scsi" 1 dd if="/dev/$scsi" of=/dev/null bs=16k skip=$((0x1234 / 32 - 8)) count=16 \
		iflag=direct conv=noerror status=none
	echo 0 >$debug/opts
	within "errors" "$(said errors iostats2)" 1 1000
}

# The disk goes in the middle: there is nothing to read any more, and so no verdict.
a_medium_is_pulled() {
	mode "$scsi" 2
	repeat fio_on "$scsi" --rw=randread --iodepth=8 --size=8m --number_ios=1000 &
	load=$!
	trap 'touch stop; kill $check 2>/dev/null || :' EXIT
	window "$scsi" 2
	echo 1 >"$(sysfs "$scsi")/device/delete"
	verdict 1
	touch stop
	wait $load || :
	rm stop
	grep -E "No such (file|device)" check.err
}

# More than the buffers hold comes between two looks at them.
buffers_too_small() {
	mode fast 2
	repeat bursts fast &
	load=$!
	trap 'touch stop; kill $check 2>/dev/null || :' EXIT
	window fast 0.2 --buffer-kb 64
	verdict 1
	touch stop
	wait $load || :
	rm stop
	grep -E 'no verdict: .*lost [0-9]+ events' check.err
}

# As many events as the machine makes.
many_events() {
	local rate
	mode fast 2
	repeat bursts fast &
	load=$!
	trap 'touch stop; kill $check 2>/dev/null || :' EXIT
	window fast 0.2
	verdict 0
	touch stop
	wait $load || :
	rm stop
	rate=$("$GUEST_DIR/live.py" check.json rate)
	echo "$rate events a second"
	within "events a second" "$rate" 100000 100000000
}

# A file system that waits for its journal: what `--live` says against blktrace's own record,
# within 1 % and 50 us a request. All of it is inside both.
a_file_system_that_syncs_as_blktrace_has_it() {
	local name
	modprobe ext4
	mkfs.ext4 -q -F /dev/cached
	mkdir -p mnt
	mount /dev/cached mnt
	sync
	mode cached 2
	window cached 4
	blktrace -d /dev/cached -o trace >blktrace.out 2>&1 &
	tracer=$!
	trap 'kill $tracer $check 2>/dev/null || :; umount mnt || :' EXIT
	eventually 10 is_recorded cached
	fio --name=a --directory=mnt --size=256k --bs=4k --rw=randwrite --ioengine=psync --fsync=1 \
		--numjobs=2 --number_ios=40 --output=fio.out
	sync
	eventually 10 is_idle cached
	sleep 0.2
	kill -INT $tracer
	wait $tracer || :
	verdict 0
	umount mnt
	blkparse -i trace >trace.txt
	blkacct check --format blkparse --disk cached --json trace.txt >blkparse.json
	"$GUEST_DIR/live.py" check.json against blkparse.json
	for name in "write ios" io_ticks; do
		within "$name" "$(said "$name" iostats2)" 60 4000000000
	done
}

is_recorded() { # DISK
	[ -d "/sys/kernel/debug/block/$1/trace0" ] || [ -e "/sys/kernel/debug/block/$1/dropped" ]
}

# An instance outlives a run that is killed, and goes at the next. That of a run that lives stays.
what_a_killed_run_left_goes() {
	local killed lives
	mode fast 2
	window fast 60
	killed=$check
	kill -9 $killed
	wait $killed || :
	is_traced $killed
	window fast 60
	lives=$check
	cat check.err
	grep "blkacct-$killed.*removed" check.err
	! is_traced $killed
	is_traced $lives
	blkacct check --live fast --seconds 0.1 >other.out 2>&1 || :
	cat other.out
	same "what another says of it" "$(grep -c removed other.out)" 0
	is_traced $lives
	kill -INT $lives
	verdict 1
	grep "stopped by a signal" check.err
	! is_traced $lives
}

clean_up() {
	local target=/sys/kernel/config/nvmet each
	for each in /sys/class/nvme/*/delete_controller; do
		[ ! -e "$each" ] || echo 1 >"$each"
	done
	if [ -d $target/subsystems/live ]; then
		rm -f $target/ports/1/subsystems/live
		rmdir $target/ports/1 $target/subsystems/live/namespaces/1 $target/subsystems/live
		modprobe -r nvme-loop nvmet
	fi
	remove_null narrow cached zones fast
	remove_scsi
}

cd "$(mktemp -d)" || exit
clean_up
load_module
add_null narrow submit_queues=1 hw_queue_depth=1 memory_backed=0 completion_nsec=2000000
echo mq-deadline >"$(sysfs narrow)/queue/scheduler"
echo 64 >"$(sysfs narrow)/queue/nr_requests"
add_null cached memory_backed=1 cache_size=64 fua=0 size=64 completion_nsec=1000000
add_null zones zoned=1 zone_size=4 size=64 memory_backed=1
add_null fast irqmode=0 completion_nsec=0
scsi=$(add_scsi 1 ndelay=100000)
ktap_print_header
tests=(
	one_at_the_driver_and_16_in_flight merges_after_front_merges dsync_writers_beside_plain_ones
	zone_appends_end_elsewhere medium_errors a_medium_is_pulled buffers_too_small many_events
	what_a_killed_run_left_goes
)
# By name only, as yet: a_file_system_that_syncs_as_blktrace_has_it, where blktrace's record has
# requests without an end.
[ $# = 0 ] || tests=("$@")
ktap_set_plan ${#tests[@]}
for test in "${tests[@]}"; do
	ktap_test_result "$test" "$test"
done
clean_up
ktap_finished
