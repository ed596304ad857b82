// SPDX-License-Identifier: GPL-2.0
/*
 * Hooks on functions of the kernel, by ftrace: its registers and its flags are
 * macros. A hook either replaces a function, as a live patch does, or calls us
 * before the function runs, which can make a time in its fourth argument the
 * present.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

struct blkacct_hook {
	struct ftrace_ops ops;
	/* What it leads to; 0 when it leads nowhere any more. */
	unsigned long target;
};

/* Calls of replacements that have begun and not ended. */
static atomic_t blkacct_replacements;

/* Hooks that ftrace has not given back, and so may call for ever. */
static atomic_t blkacct_hooks_kept;

static void notrace blkacct_replace(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct blkacct_hook *hook = container_of(ops, struct blkacct_hook, ops);
	unsigned long target;

	atomic_inc(&blkacct_replacements);
	/* Pairs with blkacct_hook_keep(): either it waits for us, or there is no target. */
	smp_mb__after_atomic();
	target = READ_ONCE(hook->target);
	if (target)
		ftrace_regs_set_instruction_pointer(fregs, target);
	else
		atomic_dec(&blkacct_replacements);
}

/*
 * Calls @target, a function of Rust, from Rust: control-flow integrity knows the two
 * languages' types apart. Whether the fourth argument, in jiffies, shall be the present.
 */
bool blkacct_hook_call(unsigned long target, unsigned long arguments[4]);

static void notrace blkacct_enter(unsigned long ip, unsigned long parent_ip,
				  struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct blkacct_hook *hook = container_of(ops, struct blkacct_hook, ops);
	unsigned long target = READ_ONCE(hook->target);
	unsigned long arguments[4];
	int i;

	if (!target)
		return;
	for (i = 0; i < 4; i++)
		arguments[i] = ftrace_regs_get_argument(fregs, i);
	if (!blkacct_hook_call(target, arguments))
		return;
	/* As late as can be before the function reads jiffies itself. */
#if defined(CONFIG_X86_64)
	arch_ftrace_regs(fregs)->regs.cx = jiffies;
#elif defined(CONFIG_ARM64)
	arch_ftrace_regs(fregs)->regs[3] = jiffies;
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

/* Waits until nobody is on the way to us, or in what we call. */
static void blkacct_wait_for_calls(void)
{
	/* As ftrace does for a hook that it takes off, which may be called preemptible. */
	synchronize_rcu_tasks_rude();
	synchronize_rcu_tasks();
}

/*
 * Keeps a hook that ftrace does not give back, as it does when something is wrong with
 * it: its calls come to us for ever, so they lead nowhere, and our text stays.
 */
static void blkacct_hook_keep(struct blkacct_hook *hook)
{
	WRITE_ONCE(hook->target, 0);
	/* Pairs with blkacct_replace(). */
	smp_mb();
	atomic_inc(&blkacct_hooks_kept);
	/* Unless it is about to go already: then blkacct_text_stay() holds it. */
	__module_get(THIS_MODULE);
	blkacct_wait_for_calls();
}

/* To be called last when the module goes. Does not return if ftrace still calls us. */
void blkacct_text_stay(void);
void blkacct_text_stay(void)
{
	while (atomic_read(&blkacct_hooks_kept)) {
		set_current_state(TASK_IDLE | TASK_FREEZABLE);
		schedule();
	}
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
	if (!err) {
		err = register_ftrace_function(&hook->ops);
		if (!err)
			return hook;
		/* It may have been on ftrace's list for a moment, or be so for ever. */
		if (hook->ops.flags & FTRACE_OPS_FL_ENABLED) {
			blkacct_hook_keep(hook);
			pr_err("ftrace has broken (%d), the module stays in memory\n", err);
			return ERR_PTR(err);
		}
		blkacct_wait_for_calls();
	}
	ftrace_free_filter(&hook->ops);
	kfree(hook);
	return ERR_PTR(err);
}

/* The last thing a replacement does. */
void blkacct_replacement_ends(void);
void blkacct_replacement_ends(void)
{
	atomic_dec(&blkacct_replacements);
}

static void blkacct_wait_for_replacements(struct blkacct_hook *hook)
{
	if (!(hook->ops.flags & FTRACE_OPS_FL_IPMODIFY))
		return;
	while (atomic_read(&blkacct_replacements))
		msleep(20);
	/* The last user may not have returned yet: wait until it has left our text. */
	synchronize_rcu_tasks();
}

void blkacct_hook_del(struct blkacct_hook *hook);
void blkacct_hook_del(struct blkacct_hook *hook)
{
	/* Waits for the hook itself, and so for what blkacct_enter() calls. */
	int err = unregister_ftrace_function(&hook->ops);

	if (err) {
		blkacct_hook_keep(hook);
		pr_err("ftrace does not give a hook back (%d), the module stays in memory\n", err);
	}
	blkacct_wait_for_replacements(hook);
	if (err)
		return;
	ftrace_free_filter(&hook->ops);
	kfree(hook);
}

#if IS_ENABLED(CONFIG_KUNIT)
/* As if ftrace did not give the hook back, and after all it does: for a test. */
void blkacct_hook_keep_for_test(struct blkacct_hook *hook, bool kept);
void blkacct_hook_keep_for_test(struct blkacct_hook *hook, bool kept)
{
	if (kept) {
		blkacct_hook_keep(hook);
		blkacct_wait_for_replacements(hook);
	} else {
		atomic_dec(&blkacct_hooks_kept);
		module_put(THIS_MODULE);
	}
}
#endif
