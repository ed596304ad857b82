// SPDX-License-Identifier: GPL-2.0
/*
 * Hooks on functions of the kernel, by ftrace: its registers and its flags are
 * macros. A hook either replaces a function, as a live patch does, or calls us
 * before the function runs, which can make a time in its fourth argument the
 * present.
 */
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

struct blkacct_hook {
	struct ftrace_ops ops;
	unsigned long target;
};

/* Calls of replacements that have begun and not ended. */
static atomic_t blkacct_replacements;

static void notrace blkacct_replace(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct blkacct_hook *hook = container_of(ops, struct blkacct_hook, ops);

	atomic_inc(&blkacct_replacements);
	ftrace_regs_set_instruction_pointer(fregs, hook->target);
}

static void notrace blkacct_enter(unsigned long ip, unsigned long parent_ip,
				  struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct blkacct_hook *hook = container_of(ops, struct blkacct_hook, ops);
	/* Returns whether the fourth argument, in jiffies, shall be the present. */
	bool (*call)(unsigned long arguments[4]) = (void *)hook->target;
	unsigned long arguments[4];
	bool now;
	int i;

	for (i = 0; i < 4; i++)
		arguments[i] = ftrace_regs_get_argument(fregs, i);
	/* A trampoline of its own calls us as it was called, preemptible or not. */
	preempt_disable_notrace();
	now = call(arguments);
	preempt_enable_notrace();
	/* Now that nobody else can run before the function reads jiffies itself. */
#ifdef CONFIG_X86_64
	if (now)
		arch_ftrace_regs(fregs)->regs.cx = jiffies;
#endif
}

/*
 * Picks the function @name. Without memory for it ftrace_set_filter() succeeds with a
 * filter that is empty, which picks every function of the kernel.
 */
static int blkacct_set_filter(struct ftrace_ops *ops, const char *name)
{
	struct ftrace_hash *empty;
	int err;

	/* Leaves the one hash that stands for all empty ones. */
	ftrace_free_filter(ops);
	empty = rcu_access_pointer(ops->func_hash->filter_hash);
	err = ftrace_set_filter(ops, (unsigned char *)name, strlen(name), 1);
	if (err)
		return err;
	return rcu_access_pointer(ops->func_hash->filter_hash) == empty ? -ENOMEM : 0;
}

struct blkacct_hook *blkacct_hook_add(const char *name, void *target, bool replace);
struct blkacct_hook *blkacct_hook_add(const char *name, void *target, bool replace)
{
	struct blkacct_hook *hook = kzalloc(sizeof(*hook), GFP_KERNEL);
	int err;

	if (!hook)
		return ERR_PTR(-ENOMEM);
	hook->target = (unsigned long)target;
	hook->ops.func = replace ? blkacct_replace : blkacct_enter;
	if (replace)
		hook->ops.flags = FTRACE_OPS_FL_IPMODIFY;
	if (!IS_ENABLED(CONFIG_HAVE_DYNAMIC_FTRACE_WITH_ARGS))
		hook->ops.flags |= FTRACE_OPS_FL_SAVE_REGS;
	/* Without it the hook would go silently when tracing is switched off. */
	hook->ops.flags |= FTRACE_OPS_FL_PERMANENT;
	err = blkacct_set_filter(&hook->ops, name);
	if (!err)
		err = register_ftrace_function(&hook->ops);
	if (err) {
		ftrace_free_filter(&hook->ops);
		kfree(hook);
		return ERR_PTR(err);
	}
	return hook;
}

/* The last thing a replacement does. */
void blkacct_replacement_ends(void);
void blkacct_replacement_ends(void)
{
	atomic_dec(&blkacct_replacements);
}

void blkacct_hook_del(struct blkacct_hook *hook);
void blkacct_hook_del(struct blkacct_hook *hook)
{
	/* Waits for the hook itself, and so for what blkacct_enter() calls. */
	unregister_ftrace_function(&hook->ops);
	if (hook->ops.flags & FTRACE_OPS_FL_IPMODIFY) {
		while (atomic_read(&blkacct_replacements))
			msleep(20);
		/* The last user may not have returned yet: wait until it has left our text. */
		synchronize_rcu_tasks();
	}
	ftrace_free_filter(&hook->ops);
	kfree(hook);
}
