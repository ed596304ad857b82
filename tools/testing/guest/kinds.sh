# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A device of each kind the stock kernel has, for devices.sh. make_KIND sets "device" to
# the name of one that has at least 8 MiB and nothing on it, and drop_KIND takes it away;
# below it can be "low" and "other", two null_blk disks. Sourced.

# The kinds, in the order of the table, and what the table calls them.
declare -a kinds=(
	virtio_blk "virtio-blk"
	virtio_scsi "virtio-scsi (sd)"
	scsi_debug "scsi_debug (sd)"
	nvme "NVMe"
	nvme_head "NVMe, multipath head"
	null "null_blk"
	loop "loop"
	nbd "nbd"
	brd "brd"
	zram "zram"
	dm_linear "dm-linear"
	dm_stripe "dm-stripe"
	dm_crypt "dm-crypt"
	dm_delay "dm-delay"
	dm_mpath "dm-multipath"
	dm_mpath_bio "dm-multipath, queue_mode bio"
	raid0 "md raid0"
	raid1 "md raid1"
)

# The one block device below a directory of sysfs, by the pattern of its name.
block_in() { # DIRECTORY PATTERN
	find "$1" -path '*/block/*' -name "$2" -printf '%f\n' | head -n 1
}

# Two disks of the host are SCSI or virtio; the guest's own root is neither of these.
make_virtio_blk() { device=vdb; }
drop_virtio_blk() { :; }
make_virtio_scsi() { device=sda; }
drop_virtio_scsi() { :; }
make_scsi_debug() { device=$(add_scsi 1); }
drop_scsi_debug() { remove_scsi; }

make_nvme() {
	modprobe nvme
	eventually 10 compgen -G '/sys/bus/pci/drivers/nvme/*/nvme/nvme*/nvme*n*' >&2
	device=$(basename "$(compgen -G '/sys/bus/pci/drivers/nvme/*/nvme/nvme*/nvme*n*')")
}
drop_nvme() { modprobe -r nvme; }

# Over a path that never leaves the machine. The path itself is no device of its own.
make_nvme_head() {
	local target=/sys/kernel/config/nvmet
	modprobe -a nvmet nvme-loop nvme-fabrics
	mkdir -p $target/subsystems/blkacct/namespaces/1 $target/ports/1
	echo 1 >$target/subsystems/blkacct/attr_allow_any_host
	echo /dev/low >$target/subsystems/blkacct/namespaces/1/device_path
	echo 1 >$target/subsystems/blkacct/namespaces/1/enable
	echo loop >$target/ports/1/addr_trtype
	ln -s $target/subsystems/blkacct $target/ports/1/subsystems/blkacct
	echo transport=loop,nqn=blkacct >/dev/nvme-fabrics
	eventually 10 nvme_head >&2
	device=$(nvme_head)
}
nvme_head() {
	compgen -G '/sys/devices/virtual/nvme-subsystem/nvme-subsys*/nvme*n*' | xargs -r basename -a |
		grep -x 'nvme[0-9]*n1'
}
drop_nvme_head() {
	local target=/sys/kernel/config/nvmet each
	for each in /sys/class/nvme/*/delete_controller; do
		[ "$(cat "${each%/*}/transport")" != loop ] || echo 1 >"$each"
	done
	rm $target/ports/1/subsystems/blkacct
	rmdir $target/ports/1 $target/subsystems/blkacct/namespaces/1 $target/subsystems/blkacct
	modprobe -r nvme-loop nvmet
}

make_null() { add_null this memory_backed=1 && device=this; }
drop_null() { remove_null this; }

make_loop() {
	modprobe loop max_part=8
	truncate -s 16M /tmp/loop
	device=$(basename "$(losetup --partscan --find --show /tmp/loop)")
}
drop_loop() {
	losetup -d "/dev/$device"
	modprobe -r loop
	rm /tmp/loop
}

# Over a socket whose other end is ours. The server holds the device while it runs.
make_nbd() {
	modprobe nbd nbds_max=1 max_part=8
	device=nbd0
	python3 "$GUEST_DIR/nbd.py" /dev/$device 16 &
	server=$!
	eventually 10 nbd_is_on >&2
}
nbd_is_on() { [ -e "$(sysfs nbd0)/pid" ] && [ "$(sectors nbd0)" -gt 0 ]; }
drop_nbd() {
	kill "$server"
	wait "$server" || :
	eventually 10 modprobe -qr nbd
}

make_brd() { modprobe brd rd_nr=1 rd_size=16384 && device=ram0; }
drop_brd() { modprobe -r brd; }

make_zram() {
	modprobe zram num_devices=1
	echo 16M >"$(sysfs zram0)/disksize"
	device=zram0
}
drop_zram() { modprobe -r zram; }

make_dm() { add_dm this "0 16384 $*" && device=$dm; }
drop_dm() { remove_dm this; }
make_dm_linear() { make_dm linear /dev/low 0; }
drop_dm_linear() { drop_dm; }
make_dm_stripe() { make_dm striped 2 8 /dev/low 0 /dev/other 0; }
drop_dm_stripe() { drop_dm; }
make_dm_crypt() { make_dm crypt aes-xts-plain64 "$(printf 'c7%.0s' {1..64})" 0 /dev/low 0; }
drop_dm_crypt() { drop_dm; }
make_dm_delay() { make_dm delay /dev/low 0 8; }
drop_dm_delay() { drop_dm; }
# Over a disk whose queue the requests are cloned into.
make_dm_mpath() {
	path=$(add_scsi 1)
	make_dm multipath 0 0 1 1 round-robin 0 1 1 "/dev/$path" 1
}
drop_dm_mpath() {
	drop_dm
	remove_scsi
}
make_dm_mpath_bio() { make_dm multipath 2 queue_mode bio 0 1 1 round-robin 0 1 1 /dev/low 1; }
drop_dm_mpath_bio() { drop_dm; }

make_md() { # LEVEL
	mdadm --quiet --create /dev/md0 --level="$1" --raid-devices=2 --metadata=1.0 \
		--assume-clean --run /dev/low /dev/other
	device=md0
}
drop_md() { mdadm --quiet --stop /dev/md0; }
make_raid0() { make_md 0; }
drop_raid0() { drop_md; }
make_raid1() { make_md 1; }
drop_raid1() { drop_md; }
