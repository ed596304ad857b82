// SPDX-License-Identifier: GPL-2.0
/*
 * load psync|io_uring DEVICE BATCHES: 4 KiB direct reads of DEVICE, in batches.
 *
 *   psync     pread(), one read at a time
 *   io_uring  32 reads in flight, submitted together and awaited together
 *
 * Prints how long each batch of BATCH reads took, in ns of CLOCK_MONOTONIC, a line
 * each. Where guest time counts instructions, so do these numbers. Not fio: its
 * timers and its threads take more instructions than what is measured.
 */
#define _GNU_SOURCE /* O_DIRECT */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 4096, BLOCKS = 4096, BATCH = 256, DEPTH = 32, WARM_UP = 16 };

static int disk;
static char *buffers;

static void *checked(void *memory)
{
	if (memory == MAP_FAILED)
		err(1, "mmap");
	return memory;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* Never next to the block before it: such reads could be merged. */
static off_t offset(unsigned int read)
{
	return (off_t)(read * 1021u % BLOCKS) * BLOCK;
}

static void psync_batch(void)
{
	for (unsigned int read = 0; read < BATCH; read++)
		if (pread(disk, buffers, BLOCK, offset(read)) != BLOCK)
			err(1, "pread");
}

static struct {
	int fd;
	uint32_t *sq_tail, *cq_head, *cq_tail;
	uint32_t sq_mask, cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
} ring;

static void ring_open(void)
{
	struct io_uring_params p = { .flags = IORING_SETUP_NO_SQARRAY };
	char *queues;

	ring.fd = syscall(__NR_io_uring_setup, DEPTH, &p);
	if (ring.fd < 0)
		err(1, "io_uring_setup");
	if (!(p.features & IORING_FEAT_SINGLE_MMAP))
		errx(1, "io_uring is too old");
	queues = checked(mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
			      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd,
			      IORING_OFF_SQ_RING));
	ring.sqes = checked(mmap(NULL, p.sq_entries * sizeof(struct io_uring_sqe),
				 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd,
				 IORING_OFF_SQES));
	ring.sq_tail = (uint32_t *)(queues + p.sq_off.tail);
	ring.sq_mask = *(uint32_t *)(queues + p.sq_off.ring_mask);
	ring.cq_head = (uint32_t *)(queues + p.cq_off.head);
	ring.cq_tail = (uint32_t *)(queues + p.cq_off.tail);
	ring.cq_mask = *(uint32_t *)(queues + p.cq_off.ring_mask);
	ring.cqes = (struct io_uring_cqe *)(queues + p.cq_off.cqes);
}

static void ring_read(unsigned int slot, off_t offset)
{
	uint32_t tail = *ring.sq_tail;
	struct io_uring_sqe *sqe = &ring.sqes[tail & ring.sq_mask];

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_READ;
	sqe->fd = disk;
	sqe->addr = (uintptr_t)(buffers + slot * BLOCK);
	sqe->len = BLOCK;
	sqe->off = offset;
	__atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
}

static void ring_reap(void)
{
	uint32_t head = *ring.cq_head, tail = __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE);

	if (tail - head != DEPTH)
		errx(1, "%u reads are done, not %u", tail - head, DEPTH);
	for (; head != tail; head++)
		if (ring.cqes[head & ring.cq_mask].res != BLOCK)
			errx(1, "a read returned %d", ring.cqes[head & ring.cq_mask].res);
	__atomic_store_n(ring.cq_head, head, __ATOMIC_RELEASE);
}

static void ring_batch(void)
{
	for (unsigned int read = 0; read < BATCH; read += DEPTH) {
		for (unsigned int slot = 0; slot < DEPTH; slot++)
			ring_read(slot, offset(read + slot));
		if (syscall(__NR_io_uring_enter, ring.fd, DEPTH, DEPTH, IORING_ENTER_GETEVENTS,
			    NULL, 0) != DEPTH)
			err(1, "io_uring_enter");
		ring_reap();
	}
}

int main(int argc, char **argv)
{
	void (*batch)(void) = psync_batch;
	unsigned int batches;
	uint64_t *times;

	if (argc != 4)
		errx(2, "usage: load psync|io_uring DEVICE BATCHES");
	batches = atoi(argv[3]);
	disk = open(argv[2], O_RDONLY | O_DIRECT);
	if (disk < 0)
		err(1, "%s", argv[2]);
	/* Nothing is paged in while the time runs. */
	buffers = checked(mmap(NULL, DEPTH * BLOCK, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
	times = checked(mmap(NULL, (batches + 1) * sizeof(*times), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
	if (!strcmp(argv[1], "io_uring")) {
		ring_open();
		batch = ring_batch;
	}
	for (unsigned int n = 0; n < WARM_UP; n++)
		batch();
	for (unsigned int n = 0; n < batches; n++) {
		times[n] = now();
		batch();
	}
	times[batches] = now();
	for (unsigned int n = 0; n < batches; n++)
		printf("%llu\n", (unsigned long long)(times[n + 1] - times[n]));
	return 0;
}
