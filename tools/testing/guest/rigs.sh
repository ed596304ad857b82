#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Loads from whose parameters follows what must be counted, beside those of driver.sh and
# of `make demo`. For a guest whose time counts instructions (guest-tests), where what the
# system adds to a request is some us.
. "$(dirname "$0")/lib.sh"

US=1000

# A read that takes 20 s: the disk is busy all the while, and a reader sees it.
a_hung_disk_is_busy_all_the_while() {
	local debug=/sys/bus/pseudo/drivers/scsi_debug reader second
	local -A before=()
	# In jiffies, of which there are 250 a second.
	echo 5000 >$debug/delay
	mode "$scsi" 2
	read_blocks "$scsi" 1 &
	reader=$!
	eventually 10 in_flight "$scsi" 1
	for second in 1 2 3; do
		ours before "$scsi"
		sleep 1
		ours got "$scsi"
		same "in flight" "${got[in_flight]}" 1
		since got before
		within "second $second" "${got[time_ns]}" 1000000000 1010000000
		same "busy in second $second" "${got[io_ticks]}" "${got[time_ns]}"
		# It is taken at another moment of the read.
		within "queue in second $second" "${got[time_in_queue]}" $((got[time_ns] - 100 * US)) \
			$((got[time_ns] + 100 * US))
	done
	wait $reader
	echo 10000 >$debug/ndelay
	no_anomalies "$scsi"
}

in_flight() { # DEVICE NUMBER
	local -A now=()
	ours now "$1"
	[ "${now[in_flight]}" = "$2" ]
}

# 32 reads in each plug. The kernel would take all of them to begin with the first, so that a
# batch takes 32 * 31 / 2 times longer than the time from one start to the next.
reads_in_a_plug_begin_one_by_one() {
	local batch stock
	mode plugged 1
	stock=$(read_plugged)
	begin plugged
	read_plugged >plugged.ms
	end plugged
	counted got read.ios=3200 read.sectors=25600
	within "a read at the driver" $((${got[read.device_nsecs]} / 3200)) $((80 * US)) $((140 * US))
	batch=$((${got[read.nsecs]} / 100))
	echo "a batch of 32 reads of 80 us: $((batch / US)) us; by iostats=1 $((stock * 10)) us"
	# The sum of their times is the time in the queue, which starts and ends alone decide.
	close "a batch" $batch $((got[time_in_queue] / 100)) 1
	within "iostats=1, us a batch" $((stock * 10)) $((batch * 105 / 100 / US)) 100000
}

# Prints the ms that the kernel adds for 100 plugs of 32 reads.
read_plugged() {
	local -A was=() now=()
	kernels was plugged
	fio --name=a --filename=/dev/plugged --direct=1 --rw=randread --bs=4k --ioengine=io_uring \
		--iodepth=32 --iodepth_batch_submit=32 --iodepth_batch_complete_min=32 --number_ios=3200 \
		--output=/dev/null
	kernels now plugged
	echo $((${now[read.ms]} - ${was[read.ms]}))
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
		mode "nullb$number" 2
	done
	"$GUEST_DIR/../evidence/readers.py" nullb0
}

clean_up() {
	remove_null plugged
	remove_scsi
	modprobe -r null_blk
}

cd "$(mktemp -d)" || exit
clean_up
load_module
add_null plugged submit_queues=1 completion_nsec=80000
scsi=$(add_scsi 1 ndelay=10000)
ktap_print_header
ktap_set_plan 4
ktap_test_result a_hung_disk_is_busy_all_the_while a_hung_disk_is_busy_all_the_while
ktap_test_result reads_in_a_plug_begin_one_by_one reads_in_a_plug_begin_one_by_one
ktap_test_result passthrough_is_no_io passthrough_is_no_io
remove_null plugged
ktap_test_result reading_256_disks_stalls_nobody reading_256_disks_stalls_nobody
clean_up
ktap_finished
