#!/usr/bin/perl
# Filters of system calls, as container engines and service managers set them.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }

my $refuse = placed("$ENV{SBX_BUILD}/tests/hostile/refuse");

for my $call (qw(namespaces namespaces=EACCES namespaces=ENOSYS namespaces=kill mount mount=ENOSYS mount=kill umount2 pivot_root
	sethostname ptrace openat2=ENOSYS seccomp keyctl keyctl=ENOSYS keyctl=EACCES)) {
	my ($name, $action) = split /=/, $call;
	my $title = "a filter: $name: " . ($action // 'EPERM');
	attempt($title, 'root', $refuse, $call);
	attempt($title, 'user', as_user(), $refuse, $call);
}
done_testing();
