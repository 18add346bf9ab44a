#!/usr/bin/perl
# Jobs are hidden from every sandbox, and never writable: those of jobs, and those of sbx-exec.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/job-lib.pl" }
our ($top, $EXEC, $JOB);

for my $who (callers()) {
	my $name = $who->{name};
	my $dir = state_of($who);
	my $id = begin($who, '--', 'sh', '-c', 'echo secret; sleep 1000');

	becomes(sub { -s "$dir/$id/log.0.1.0" });
	for (
		['default'],
		['workspace', '-p', 'workspace'],
		['the home writable', '--write', '~'],
		['a mount of the home', '--bind', "$who->{home}:/mnt"],
		['the home by a read-only mount', '--bind', "$who->{home}:/mnt:ro"],
	) {
		my ($what, @options) = @$_;
		my $base = "@options" =~ /mnt/ ? $dir =~ s/^\Q$who->{home}/\/mnt/r : $dir;
		promises($who, \@options,
			['list', $base, 'EACCES', "$what: jobs are not listed"],
			['stat', "$base/$id/meta.json", 'EACCES', "$what: ... nor seen by name"],
			['read', "$base/$id/log.0.1.0", 'EACCES', "$what: ... nor read"],
			['create', "$base/x", 'EACCES', "$what: ... nor made"],
		);
		my @got = look($who, \@options, ['rename', $base], ['chmod', $base]);
		unlike("@got", qr/ok/, "$name: $what: the directory stays where it is");
	}
	my $got = run($who, [$EXEC, '-p', 'strict', '--chdir', '/', '--', 'ls', $dir]);
	like($got->{err}, qr/No such file|Permission denied/, "$name: strict: not there");
	for (['--read', "$dir/$id"], ['--write', $dir], ['--read', $dir], ['--bind', "$dir/$id:/mnt:ro"], ['--bind', "$dir:/mnt"]) {
		$got = run($who, [$EXEC, @$_, '--', 'true']);
		is($got->{code}, 125, "$name: @$_ is refused");
		like($got->{err}, qr/sbx keeps its (jobs|own policies and state)/, "$name: ... and says why");
	}
	symlink $dir, "$who->{home}/project/link";
	like(join(' ', look($who, ['--read', "$who->{home}/project/link"], ['list', $dir])), qr/no run: 125.*leads to \Q$dir/, "$name: nor by a link");

	# Its own job.
	my $own = begin($who, '--write', '~', '--', 'sh', '-c', "ls $dir; cat $dir/*/log* $dir/*/meta.json; echo x >$dir/x; mv $dir $dir.x; rm -r $dir");
	job($who, ['wait', $own]);
	unlike(job($who, ['read', $own])->{out}, qr/secret|\Q$id/, "$name: nor does a job see them");
	is(job($who, ['read', $id])->{out}, "secret\n", "$name: ... or change them");

	# Elsewhere.
	my $place = "$who->{home}/project/jobs";
	$got = job($who, ['start', '-p', 'workspace', '--', 'sh', '-c', 'ls jobs; touch jobs/x; rmdir jobs; mv jobs y'], env => {SBX_STATE => $place});
	$own = $got->{out} =~ s/\n//r;
	job($who, ['wait', $own], env => {SBX_STATE => $place});
	my @lines = split /\n/, job($who, ['read', $own], env => {SBX_STATE => $place})->{out};
	is(scalar(grep { /Permission denied|busy/ } @lines), 4, "$name: a place in the workspace is hidden as well") or diag("@lines");
	job($who, ['stop', '--all']);
}
done_testing();
