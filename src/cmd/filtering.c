#include "cmd/filtering.h"

#include "base/mem.h"

static int unknown_call(const char *name, const char *where, struct err *err)
{
	CLEANUP_FREE char *near = filter_nearest(name);

	err_set(err, ERR_POLICY, "\"%s\" is no system call", name);
	if (near)
		err_hint(err, "did you mean \"%s\"?", near);
	else
		err_hint(err, "they are named as in syscalls(2): \"ptrace\"; one that this "
			      "libseccomp does not know cannot be named");
	return err_at(err, "%s", where);
}

static int read_names(struct strvec *names, const struct strvec *pairs, struct err *err)
{
	for (size_t i = 0; i < pairs->n; i += 2) {
		const char *name = pairs->v[i];

		if (!filter_knows(name))
			return unknown_call(name, pairs->v[i + 1], err);
		if (!strvec_has(names, name))
			strvec_push(names, name);
	}
	return 0;
}

int filtering_init(struct filtering *f, const struct policy *policy, struct err *err)
{
	static const enum filter_profile profiles[] = {FILTER_NONE, FILTER_DEFAULT, FILTER_STRICT};
	const struct policy_seccomp *seccomp = &policy->seccomp;

	if (read_names(&f->allow, &seccomp->allow, err) < 0 ||
		read_names(&f->deny, &seccomp->deny, err) < 0)
		return -1;
	f->spec = (struct filter_spec){.profile = profiles[seccomp->profile - PROFILE_NONE],
		.nested_userns = policy->nested_userns,
		.network = policy->network != NETWORK_NONE,
		.kill = seccomp->kill,
		.allow = &f->allow,
		.deny = &f->deny};
	f->on = filter_needed(&f->spec) && filter_works();
	return 0;
}

int filtering_make(struct filtering *f, struct err *err)
{
	return f->on ? filter_make(&f->program, &f->spec, err) : 0;
}

bool filtering_closes_userns(const struct filtering *f)
{
	return f->on && filter_closes_userns(&f->spec);
}

void filtering_clear(struct filtering *f)
{
	strvec_clear(&f->allow);
	strvec_clear(&f->deny);
	filter_program_clear(&f->program);
}
