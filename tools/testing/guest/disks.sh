# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Disks for the guest tests, and I/O on them. Sourced by lib.sh.

# add_null NAME [ATTRIBUTE=VALUE...]: a null_blk disk. Without attributes each
# request takes 100 us, and requests do not wait for each other.
add_null() {
	local name=$1 each
	local directory=/sys/kernel/config/nullb/$1
	shift
	modprobe null_blk nr_devices=0
	mkdir "$directory"
	for each in size=1024 irqmode=2 completion_nsec=100000 submit_queues="$(nproc)" "$@"; do
		echo "${each#*=}" >"$directory/${each%%=*}"
	done
	echo 1 >"$directory/power"
	echo none >"$(sysfs "$name")/queue/scheduler"
}

# partition NAME: two partitions on a disk that keeps what is written: NAME1, of 1024
# sectors from 2048 on, and NAME2, right behind it.
partition() {
	sfdisk -q "/dev/$1" <<-END
		label: dos
		start=2048 size=1024
		start=3072 size=8192
	END
}

remove_null() { # NAME...
	local name
	for name; do
		[ -d "/sys/kernel/config/nullb/$name" ] || continue
		echo 0 >"/sys/kernel/config/nullb/$name/power"
		rmdir "/sys/kernel/config/nullb/$name"
	done
}

# add_scsi NUMBER [PARAMETER=VALUE...]: scsi_debug disks; prints their names.
add_scsi() {
	local number=$1
	shift
	modprobe scsi_debug dev_size_mb=16 max_luns="$number" "$@"
	eventually 10 scsi_has "$number" >&2
	scsi_disks | xargs
}

scsi_disks() {
	compgen -G '/sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*:*/block/*' |
		xargs -r basename -a
}

scsi_has() { # NUMBER
	[ "$(scsi_disks | wc -l)" = "$1" ]
}

remove_scsi() {
	[ ! -d /sys/module/scsi_debug ] || eventually 10 modprobe -qr scsi_debug
}

# read_blocks DEVICE COUNT [BYTES]: COUNT reads, one by one.
read_blocks() {
	dd if="/dev/$1" of=/dev/null bs="${3:-4096}" count="$2" iflag=direct status=none
}

# write_blocks DEVICE COUNT [BYTES [FLAG]]: COUNT writes, one by one.
write_blocks() {
	dd if=/dev/zero of="/dev/$1" bs="${3:-4096}" count="$2" oflag="direct${4:+,$4}" status=none
}

# start_load DEVICE...: random reads and writes at depth 32 on each, behind a partition
# table and small partitions, until stop_load or the end of the test; "load" is the
# process. Errors, as of a disk that goes, do not end it.
start_load() {
	local device
	local -a jobs=()
	for device; do
		jobs+=(--name="$device" --filename="/dev/$device")
	done
	fio --ioengine=libaio --direct=1 --bs=4k --iodepth=32 --rw=randrw --time_based \
		--runtime=900 --offset=8m --size=8m --thread --continue_on_error=all --eta=never \
		"${jobs[@]}" >/dev/null 2>&1 &
	load=$!
	trap 'kill $load 2>/dev/null || :' EXIT
	load_is_on "$@"
}

# load_is_on DEVICE...: waits until each has done I/O since the call and has some in flight.
# How much that is at once depends on how fast the guest is: nothing waits for a depth.
load_is_on() {
	local device
	for device; do
		local -A before=()
		kernels before "$device"
		eventually 30 is_loaded "$device" $((${before[read.ios]} + ${before[write.ios]} + 64))
	done
}

is_loaded() { # DEVICE I/OS
	local -A now=()
	kernels now "$1"
	[ $((${now[read.ios]} + ${now[write.ios]})) -ge "$2" ] && [ "${now[in_flight]}" -gt 0 ]
}

stop_load() {
	kill "$load" 2>/dev/null || :
	eventually 30 load_has_ended
	wait "$load" 2>/dev/null || :
}

load_has_ended() {
	! kill -0 "$load" 2>/dev/null
}

is_idle() { # DEVICE, by the kernel's own count
	[ "$(xargs <"$(sysfs "$1")/inflight")" = "0 0" ]
}

# add_dm NAME TABLE-LINE...: sets "dm" to the name of its disk.
add_dm() {
	local name=$1
	shift
	printf '%s\n' "$@" | dmsetup create "$name" --noudevsync
	dm=$(dmsetup info -c --noheadings -o blkdevname "$name")
}

remove_dm() { # NAME...: and what is in flight
	local name
	for name; do
		dmsetup remove --retry --noudevsync "$name" || return
	done
}

sectors() { # DEVICE
	cat "$(sysfs "$1")/size"
}
