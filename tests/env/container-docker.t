#!/usr/bin/perl
# docker: a real dockerd, in namespaces of its own and without a network.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/docker-lib.pl" }
our $place;

my $rootfs = fetched('rootfs');
my @docker = docker();
system("tar -C '$rootfs' -c . | @docker import - sbx-env >/dev/null") == 0 or die 'docker import';

my @run = (@docker, 'run', '--rm', '--network', 'none', '-v', "$place:$place");
my @seccomp = ('--security-opt', 'seccomp=unconfined');
my @paths = ('--security-opt', 'systempaths=unconfined');
my @user = ('--user', '1000:1000');
attempt('docker', 'root', @run, 'sbx-env');
attempt('docker', 'user', @run, @user, 'sbx-env');
attempt('docker, seccomp=unconfined', 'root', @run, @seccomp, 'sbx-env');
attempt('docker, seccomp=unconfined', 'user', @run, @user, @seccomp, 'sbx-env');
attempt('docker, seccomp=unconfined, systempaths=unconfined', 'root', @run, @seccomp, @paths, 'sbx-env');
attempt('docker, seccomp=unconfined, systempaths=unconfined', 'user', @run, @user, @seccomp, @paths, 'sbx-env');
# podman's profile: it allows namespaces and mounts, and little else that docker's does not.
my @profile = ('--security-opt', 'seccomp=/usr/share/containers/seccomp.json');
attempt('docker, seccomp=/usr/share/containers/seccomp.json', 'root', @run, @profile, 'sbx-env');
attempt('docker, seccomp=/usr/share/containers/seccomp.json', 'user', @run, @user, @profile, 'sbx-env');
attempt('docker, systempaths=unconfined', 'root', @run, @paths, 'sbx-env');
attempt('docker, --cap-add SYS_ADMIN', 'root', @run, '--cap-add', 'SYS_ADMIN', 'sbx-env');
attempt('docker, --cap-add SYS_ADMIN', 'user', @run, @user, '--cap-add', 'SYS_ADMIN', 'sbx-env');
attempt('docker, --cap-drop ALL --cap-add SETFCAP, seccomp=unconfined', 'root', @run, '--cap-drop', 'ALL', '--cap-add', 'SETFCAP', @seccomp, 'sbx-env');
attempt('docker, --cap-drop ALL, seccomp=unconfined', 'root', @run, '--cap-drop', 'ALL', @seccomp, 'sbx-env');
attempt('docker, no-new-privileges, seccomp=unconfined', 'user', @run, @user, @seccomp, '--security-opt', 'no-new-privileges', 'sbx-env');
attempt('docker, --read-only, seccomp=unconfined', 'root', @run, '--read-only', @seccomp, 'sbx-env');
attempt('docker, --privileged', 'root', @run, '--privileged', 'sbx-env');
attempt('docker, --privileged', 'user', @run, @user, '--privileged', 'sbx-env');
attempt('docker, --pid host, seccomp=unconfined', 'root', @run, '--pid', 'host', @seccomp, 'sbx-env');
done_testing();
