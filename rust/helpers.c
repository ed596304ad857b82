// SPDX-License-Identifier: GPL-2.0
/*
 * What only a header can do: macros and inline functions of the kernel that the
 * Rust side needs and that the kernel's own rust/helpers do not offer. One purpose
 * each.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/irqflags.h>
#include <linux/kallsyms.h>
#include <linux/part_stat.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

void blkacct_preempt_disable(void);
void blkacct_preempt_disable(void)
{
	preempt_disable();
}

void blkacct_preempt_enable(void);
void blkacct_preempt_enable(void)
{
	preempt_enable();
}

#ifdef CONFIG_PREEMPTION
void blkacct_preempt_schedule(void);
void blkacct_preempt_schedule(void)
{
	__preempt_schedule();
}
#endif

unsigned long blkacct_cpu_offset(void);
unsigned long blkacct_cpu_offset(void)
{
	return __my_cpu_offset;
}

unsigned int blkacct_noio_save(void);
unsigned int blkacct_noio_save(void)
{
	return memalloc_noio_save();
}

void blkacct_noio_restore(unsigned int flags);
void blkacct_noio_restore(unsigned int flags)
{
	memalloc_noio_restore(flags);
}

void blkacct_cond_resched(void);
void blkacct_cond_resched(void)
{
	cond_resched();
}

void blkacct_synchronize_probes(void);
void blkacct_synchronize_probes(void)
{
	tracepoint_synchronize_unregister();
	/* For hooks on functions, which run with preemption off. */
	synchronize_rcu();
}

/* The test that blk_account_io_start() is about to make of a passthrough request. */
bool blkacct_rq_passthrough_stats(struct request *rq);
bool blkacct_rq_passthrough_stats(struct request *rq)
{
	return blk_rq_passthrough_stats(rq, rq->q);
}

/* The numbers in sys/preempt.rs, where in_task() is inline. */
#if defined(CONFIG_X86_64) && !defined(CONFIG_PREEMPT_RT)
static_assert((NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET) ==
	      (IS_ENABLED(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS) ? 0xff000100 : 0x00ff0100));
#endif

/* Makes @now what blk_time_get_ns() returns to this task until its plug ends. */
void blkacct_set_plug_clock(u64 now);
void blkacct_set_plug_clock(u64 now)
{
	struct blk_plug *plug = current->plug;

	if (!plug || !in_task())
		return;
	WRITE_ONCE(plug->cur_ktime, now);
	/* As blk_time_get_ns() does: the flag follows the time. */
	barrier();
	current->flags |= PF_BLOCK_TS;
}

/* Whether @address is in the function @name. A module shows behind the symbol. */
bool blkacct_is_symbol(const void *address, const char *name);
bool blkacct_is_symbol(const void *address, const char *name)
{
	char symbol[KSYM_SYMBOL_LEN];
	size_t length = strlen(name);

	sprint_symbol_no_offset(symbol, (unsigned long)address);
	return !strncmp(symbol, name, length) && (!symbol[length] || symbol[length] == ' ');
}

unsigned long blkacct_irq_save(void);
unsigned long blkacct_irq_save(void)
{
	unsigned long flags;

	local_irq_save(flags);
	return flags;
}

void blkacct_irq_restore(unsigned long flags);
void blkacct_irq_restore(unsigned long flags)
{
	local_irq_restore(flags);
}

bool blkacct_queue_io_stat(struct request_queue *q);
bool blkacct_queue_io_stat(struct request_queue *q)
{
	return blk_queue_io_stat(q);
}

void blkacct_limits_start(struct request_queue *q, struct queue_limits *limits);
void blkacct_limits_start(struct request_queue *q, struct queue_limits *limits)
{
	*limits = queue_limits_start_update(q);
}

void blkacct_limits_cancel(struct request_queue *q);
void blkacct_limits_cancel(struct request_queue *q)
{
	queue_limits_cancel_update(q);
}

void blkacct_limits_set_io_stat(struct queue_limits *limits, bool on);
void blkacct_limits_set_io_stat(struct queue_limits *limits, bool on)
{
	if (on)
		limits->features |= BLK_FEAT_IO_STAT;
	else
		limits->features &= ~BLK_FEAT_IO_STAT;
}

/*
 * Each stat group's ios, merges, sectors and nsecs. part_stat_read() goes over all
 * possible CPUs for a single one of them.
 */
void blkacct_part_stats(struct block_device *part, u64 counts[NR_STAT_GROUPS][4]);
void blkacct_part_stats(struct block_device *part, u64 counts[NR_STAT_GROUPS][4])
{
	int cpu, group;

	for_each_possible_cpu(cpu) {
		const struct disk_stats *stats = per_cpu_ptr(part->bd_stats, cpu);

		for (group = 0; group < NR_STAT_GROUPS; group++) {
			counts[group][0] += READ_ONCE(stats->ios[group]);
			counts[group][1] += READ_ONCE(stats->merges[group]);
			counts[group][2] += READ_ONCE(stats->sectors[group]);
			counts[group][3] += READ_ONCE(stats->nsecs[group]);
		}
	}
}

/*
 * A stamp that update_io_ticks() never sees in the past, so that it leaves busy
 * time to us; or the present, to give it back.
 */
void blkacct_park_stamp(struct block_device *part, bool park);
void blkacct_park_stamp(struct block_device *part, bool park)
{
	WRITE_ONCE(part->bd_stamp, jiffies + (park ? LONG_MAX / 2 : 0));
}

/* As part_stat_add(), but on this device alone. */
void blkacct_add_nsecs(struct block_device *part, int group, u64 nsecs);
void blkacct_add_nsecs(struct block_device *part, int group, u64 nsecs)
{
	part_stat_lock();
	__this_cpu_add(part->bd_stats->nsecs[group], nsecs);
	part_stat_unlock();
}

void blkacct_add_io_ticks(struct block_device *part, unsigned long ticks);
void blkacct_add_io_ticks(struct block_device *part, unsigned long ticks)
{
	part_stat_lock();
	__this_cpu_add(part->bd_stats->io_ticks, ticks);
	part_stat_unlock();
}

/* The whole disk is one of its own parts. Each has a read-side section of its own. */
void blkacct_visit_parts(struct gendisk *disk, void (*each)(struct block_device *part));
void blkacct_visit_parts(struct gendisk *disk, void (*each)(struct block_device *part))
{
	struct block_device *part;
	unsigned long index = 0;

	do {
		rcu_read_lock();
		part = xa_find(&disk->part_tbl, &index, ULONG_MAX, XA_PRESENT);
		if (part)
			each(part);
		rcu_read_unlock();
		index++;
	} while (part);
}

void blkacct_init_delayed_work(struct delayed_work *work, work_func_t func);
void blkacct_init_delayed_work(struct delayed_work *work, work_func_t func)
{
	INIT_DELAYED_WORK(work, func);
}

/* The bit of limits->features. */
const u32 blkacct_feat_io_stat = (__force u32)BLK_FEAT_IO_STAT;
