#!/usr/bin/perl
# Callers with few descriptors, processes or little memory (ulimit).
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
attempt("ulimit -n $_", 'user', as_user(), 'prlimit', "--nofile=$_") for 8, 64;
# Processes are counted by user: one that has no others.
attempt("ulimit -u $_", 'user', as_user(300000 + $$), 'prlimit', "--nproc=$_") for 1, 4, 20;
# A unit of ulimit -f is 1024 bytes: enough for a trial, but not for a run.
attempt("ulimit -f $_", 'user', as_user(), 'prlimit', '--fsize=' . 1024 * $_) for 0, 1;
attempt('ulimit -v 20000', 'user', as_user(), 'prlimit', '--as=20000000');
attempt('ulimit -s 64', 'user', as_user(), 'prlimit', '--stack=65536');
done_testing();
