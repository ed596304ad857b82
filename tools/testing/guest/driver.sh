#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Where the time goes: between the start and the issue, at the driver, or to nobody.
# Disks whose every request takes the same time, and loads from which follows how long
# each request waits. For a guest whose time counts instructions (guest-tests), where
# what the system adds to a request is some us.
. "$(dirname "$0")/lib.sh"

US=1000 MS=1000000

# near WHAT GOT WANTED: 1 % and 60 us more or less, by the rule of the rigs.
near() {
	close "$1" "$2" "$3" 1 $((60 * US))
}

# Two at a time for 2 ms each, sixteen in flight: each is the 8th to be served.
waiting_and_service_are_told_apart() {
	begin narrow
	fio --name=a --filename=/dev/narrow --direct=1 --rw=randread --bs=4k --ioengine=libaio \
		--iodepth=16 --number_ios=400 --output-format=json >fio.json
	end narrow
	counted got read.ios=400 read.sectors=3200
	near "D2C, mean" $((${got[read.device_nsecs]} / 400)) $((2 * MS))
	# The first 14 wait less, and the last have nobody behind them.
	within "Q2D, mean" $(((${got[read.nsecs]} - ${got[read.device_nsecs]}) / 400)) $((13 * MS)) $((14 * MS + 60 * US))
	near "device_ticks" "${got[device_ticks]}" $((200 * 2 * MS))
	within "io_ticks" "${got[io_ticks]}" "${got[device_ticks]}" $((got[device_ticks] * 101 / 100))
	near "device_time_in_queue" "${got[device_time_in_queue]}" "${got[read.device_nsecs]}"
	# Fio looks at its completions one by one.
	within "mean latency by fio" "$(fio_mean read)" $((${got[read.nsecs]} / 400)) \
		$((${got[read.nsecs]} / 400 + 16 * 60 * US))
}

fio_mean() { # read|write: fio's mean completion latency in ns
	python3 -c "import json; print(round(json.load(open('fio.json'))['jobs'][0]['$1']['clat_ns']['mean']))"
}

# Reads come at random, 800 a second to a disk that can do 1000: their latencies range from
# that of the disk to many times that.
percentiles_are_those_that_fio_sees() {
	mode spread 2
	fio --name=a --filename=/dev/spread --direct=1 --rw=randread --bs=4k --ioengine=libaio \
		--iodepth=64 --number_ios=2000 --rate_iops=800 --rate_process=poisson \
		--percentile_list=50:90:99:99.9:99.99 --output-format=json >fio.json
	blkacct latency --json spread >latency.json
	"$GUEST_DIR/percentiles.py" fio.json latency.json
}

# flushing WRITES BUSY FLUSHES FIO-OPTION...: 100 times a write to a disk with a cache and
# without FUA, where data and flush take 8 ms each. Somebody waits all the while, and the
# driver always has one of the two.
flushing() {
	begin cached
	fio --name=a --filename=/dev/cached --direct=1 --rw=write --bs=4k --ioengine=psync \
		--number_ios=100 "${@:4}" --output-format=json >fio.json
	end cached
	counted got write.ios=$((100 * $1)) write.sectors=800 flush.ios=$((100 * $3))
	near "busy, each" $((got[io_ticks] / 100)) $(($2 * MS))
	near "queue, each" $((got[time_in_queue] / 100)) $(($2 * MS))
	near "write, each" $((${got[write.nsecs]} / 100)) $(($2 * MS))
	near "flush, each" $((${got[flush.nsecs]} / 100)) $(($3 * 8 * MS))
	near "write at the driver, each" $((${got[write.device_nsecs]} / 100)) $((8 * MS))
	near "flush at the driver, each" $((${got[flush.device_nsecs]} / 100)) $(($3 * 8 * MS))
	near "driver busy, each" $((got[device_ticks] / 100)) $(($2 * MS))
}

# The flush comes as a write of no sectors, which waits for it.
a_flush_is_counted_once() {
	flushing 2 16 1 --fdatasync=1 --end_fsync=1
}

# The write itself waits for one flush, and then comes another as above.
a_write_that_flushes_is_counted_once() {
	flushing 2 24 2 --sync=dsync
}

# The same request, given back four times before the driver keeps it.
requeues_are_counted_and_errors() {
	local debug=/sys/bus/pseudo/drivers/scsi_debug
	begin "$scsi"
	echo 0x8000 >$debug/opts # the host is busy
	echo 5 >$debug/every_nth
	read_blocks "$scsi" 40
	echo 0 >$debug/every_nth
	echo 2 >$debug/opts # a medium error at sector 0x1234
	dd if="/dev/$scsi" of=/dev/null bs=512 count=1 skip=$((0x1234)) iflag=direct status=none 2>/dev/null && return 1
	echo 0 >$debug/opts
	end "$scsi"
	within "requeues" "${got[requeues]}" 5 100
	within "errors" "${got[errors]}" 1 100
	# Read after read: what waits, waits for the driver to be free again.
	within "D2C" "${got[read.device_nsecs]}" 1 "${got[read.nsecs]}"
}

# Each path has its own share; that of the disk above includes what it does itself.
paths_are_measured_each_for_itself() {
	local -A fast=() slow=() fast_before=() slow_before=()
	local stock
	add_dm two "0 131072 multipath 2 queue_mode mq 0 1 1 service-time 0 2 1 /dev/path1 1 /dev/path3 1"
	read_two
	stock=$(fio_mean read)
	mode path1 2
	mode path3 2
	ours fast_before path1
	ours slow_before path3
	begin "$dm"
	read_two
	end "$dm"
	ours fast path1
	ours slow path3
	since fast fast_before
	since slow slow_before
	remove_dm two
	same "both paths" $((${fast[read.ios]} + ${slow[read.ios]})) 400
	within "the fast one" "${fast[read.ios]}" "${slow[read.ios]}" 399
	near "D2C of 1 ms" $((${fast[read.device_nsecs]} / ${fast[read.ios]})) $((1 * MS))
	near "D2C of 3 ms" $((${slow[read.device_nsecs]} / ${slow[read.ios]})) $((3 * MS))
	within "the disk above" "${got[read.device_nsecs]}" \
		$((${fast[read.nsecs]} + ${slow[read.nsecs]})) "${got[read.nsecs]}"
	near "mean latency by fio" "$(fio_mean read)" $((${got[read.nsecs]} / 400))
	# To measure it did not change it.
	close "mean latency by fio, mode 1 against mode 2" "$stock" "$(fio_mean read)" 1
}

read_two() {
	fio --name=a --filename="/dev/$dm" --direct=1 --rw=randread --bs=4k --ioengine=libaio \
		--iodepth=4 --number_ios=400 --output-format=json >fio.json
}

# All files of a disk, as a monitor reads them: well below 1 ms of this CPU's time.
reading_is_cheap() {
	local ns
	ns=$(python3 - "$(sysfs narrow)/blkacct" <<-'END'
		import os, sys, time
		files = [os.open(entry.path, os.O_RDONLY) for entry in os.scandir(sys.argv[1])]
		for _ in range(3):
		    before = time.monotonic_ns()
		    for file in files:
		        os.pread(file, 8192, 0)
		    spent = time.monotonic_ns() - before
		print(spent)
	END
	)
	within "ns to read all files of a disk" "$ns" 1 $MS
	echo "all files of a disk: $ns ns"
}

clean_up() {
	remove_null narrow spread cached path1 path3
	remove_scsi
}

cd "$(mktemp -d)" || exit
clean_up
load_module
modprobe -a dm-mod dm-multipath dm-service-time
add_null narrow submit_queues=1 hw_queue_depth=2 completion_nsec=$((2 * MS))
echo mq-deadline >"$(sysfs narrow)/queue/scheduler"
echo 64 >"$(sysfs narrow)/queue/nr_requests"
add_null spread submit_queues=1 hw_queue_depth=2 completion_nsec=$((2 * MS))
echo mq-deadline >"$(sysfs spread)/queue/scheduler"
echo 64 >"$(sysfs spread)/queue/nr_requests"
add_null cached memory_backed=1 cache_size=64 fua=0 completion_nsec=$((8 * MS))
# No throttling of writes. The queue goes on keeping statistics for it, and so shows the end of
# a flush in any case; KUnit has a flush whose end it would not show.
echo 0 >"$(sysfs cached)/queue/wbt_lat_usec"
add_null path1 completion_nsec=$((1 * MS)) size=64
add_null path3 completion_nsec=$((3 * MS)) size=64
scsi=$(add_scsi 1)
ktap_print_header
ktap_set_plan 7
ktap_test_result waiting_and_service_are_told_apart waiting_and_service_are_told_apart
ktap_test_result percentiles_are_those_that_fio_sees percentiles_are_those_that_fio_sees
ktap_test_result a_flush_is_counted_once a_flush_is_counted_once
ktap_test_result a_write_that_flushes_is_counted_once a_write_that_flushes_is_counted_once
ktap_test_result requeues_are_counted_and_errors requeues_are_counted_and_errors
ktap_test_result paths_are_measured_each_for_itself paths_are_measured_each_for_itself
ktap_test_result reading_is_cheap reading_is_cheap
clean_up
ktap_finished
