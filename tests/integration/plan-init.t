# sbx-plan --init: what it writes loads, plans and proves, in a directory of each language; it hides the secrets that lie
# there; with it the language's own tool, where it is installed, still builds; and it overwrites nothing.
use strict;
use warnings;
use FindBin;
use JSON::PP;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }
our ($PLAN, $EXEC);

# Language, its files, what of the home it needs, and a build that has to work where its tool is.
my @examples = (
	['Node.js', {'package.json' => '{"scripts": {"test": "node -e \"console.log(7)\""}}', '.npmrc' => '//r/:_authToken=S3CRET'},
		['.npm'], 'npm test --silent', '7'],
	['Rust', {'Cargo.toml' => qq([package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n),
		'src/main.rs' => 'fn main() { println!("7"); }'}, ['.cargo/registry'], 'cargo run --offline --quiet', '7'],
	['Go', {'go.mod' => "module x\n", 'x.go' => "package x\nfunc F() int { return 7 }\n"},
		['go/pkg/mod'], 'go build . && echo 7', '7'],
	['Python', {'pyproject.toml' => "[project]\nname = \"x\"\nversion = \"1\"\n", 'x.py' => 'print(7)'},
		['.cache/pip'], 'python3 x.py', '7'],
	['Java', {'pom.xml' => '<project/>'}, ['.m2/repository']],
	['Ruby', {Gemfile => "source 'https://rubygems.org'\n", 'x.rb' => 'puts 7'}, ['.gem'], 'ruby x.rb', '7'],
	['PHP', {'composer.json' => '{}'}, ['.cache/composer']],
	['make', {Makefile => "all: x\n\t./x\nx: x.c\n\tgcc -o x x.c\n",
		'x.c' => "#include <stdio.h>\nint main(void) { puts(\"7\"); return 0; }\n"}, [], 'make -s', '7'],
);

my @who = callers();
for my $who (@who) {
	for (@examples) {
		my ($language, $files, $caches, $build, $says) = @$_;
		my $name = "$who->{name}, $language";
		my $dir = "$who->{home}/project/" . lc $language;
		put($who, "$dir/$_", $files->{$_}) for keys %$files;
		put($who, "$dir/$_", 'S3CRET') for '.env', "sub/a \"[b\e]/id_rsa", "sub/\xff.env";
		put($who, "$dir/key.pem", "-----BEGIN PRIVATE KEY-----\nS3CRET");
		put($who, "$dir/.git/config", '');
		put($who, "$who->{home}/$_/kept", 'x') for @$caches;
		my $run = run($who, [$PLAN, '--init'], cwd => $dir);
		is($run->{code}, 0, "$name: --init") or diag $run->{err};
		like($run->{out}, qr/^wrote sbx\.json: a git repository, \Q$language\E; secrets denied: [45]$/m, "$name: what was found");
		my $text = slurp("$dir/sbx.json");
		my $policy = eval { decode_json($text) } || {};
		is_deeply($policy->{extends}, ['workspace'], "$name: extends workspace");
		is_deeply([map { $_->{path} } @{$policy->{filesystem}{read} || []}], [map { "~/$_" } @$caches], "$name: caches");
		is_deeply([grep { !ref || !length $_->{why} } map { @$_ } values %{$policy->{filesystem}}], [], "$name: a why for each rule");

		my $before = (stat "$dir/sbx.json")[1];
		$run = run($who, [$PLAN, '--init'], cwd => $dir);
		is($run->{code}, 125, "$name: a second time");
		is(slurp("$dir/sbx.json"), $text, "$name: nothing is overwritten");
		$run = run($who, [$PLAN, '-p', './sbx.json', '--strict', '--check'], cwd => $dir);
		my $lenient = run($who, [$PLAN, '-p', './sbx.json', '--check'], cwd => $dir);
		is($lenient->{code}, 0, "$name: loads, plans and proves") or diag $lenient->{err};
		unlike($run->{err}, qr/sbx\.json: /, "$name: none of its rules is without effect");

		$run = run($who, [$EXEC, '-p', './sbx.json', '--', 'sh', '-c',
			'grep -rs S3CRET . && echo leaked; (echo {} >sbx.json) 2>/dev/null || echo kept; echo x >new && cat new'], cwd => $dir);
		is($run->{out}, "kept\nx\n", "$name: secrets are hidden, the directory can be written") or diag $run->{err};

		next if !$build || $who != $who[-1];
		my ($tool) = split ' ', $build;
		SKIP: {
			my $path = (grep { -x "$_/$tool" } split /:/, $ENV{PATH})[0];
			skip "$tool is not installed", 1 if !$path;
			$run = run($who, [$EXEC, '-p', './sbx.json', '--', 'sh', '-c', $build], cwd => $dir);
			is($run->{out}, "$says\n", "$name: $build") or diag $run->{err};
		}
	}

	# What must not be opened to a command is no directory to begin with.
	for (['the home', $who->{home}, qr/home directory writable/], ['/', '/', qr/no rule can stand at "\/"/],
		['/tmp', '/tmp', qr/\/tmp is always the sandbox/]) {
		my ($what, $cwd, $says) = @$_;
		my $run = run($who, [$PLAN, '--init'], cwd => $cwd);
		is($run->{code}, 125, "$who->{name}: not for $what");
		like($run->{err}, $says, "$who->{name}: why not for $what");
		ok(!-e "$cwd/sbx.json", "$who->{name}: nothing is written in $what");
	}

	# Links are not followed, wherever the file would be written or read.
	my $dir = "$who->{home}/links";
	put($who, "$dir/x", 'x');
	put($who, "$who->{home}/target/.env", 'S3CRET');
	symlink "$who->{home}/nowhere", "$dir/sbx.json" or die;
	symlink "$who->{home}/target", "$dir/sub" or die;
	my $run = run($who, [$PLAN, '--init'], cwd => $dir);
	is($run->{code}, 125, "$who->{name}: sbx.json is a link");
	ok(!-e "$who->{home}/nowhere", "$who->{name}: which is not followed");
	unlink "$dir/sbx.json" or die;

	# Of another directory, with what was said on the command line, which is a part of the policy.
	$run = run($who, [$PLAN, '--init', '-p', 'default', '--write', './out', '--net', 'host', '--timeout', '1m', '../links'],
		cwd => do { put($who, "$who->{home}/project/x", ''); put($who, "$dir/out/x", ''); "$who->{home}/project" });
	is($run->{code}, 0, "$who->{name}: for another directory") or diag $run->{err};
	like($run->{out}, qr/secrets denied: 0$/m, "$who->{name}: links are not followed");
	my $policy = eval { decode_json(slurp("$dir/sbx.json")) };
	is_deeply($policy, {sbx => 1, extends => ['default'], description => 'what commands may do in this directory',
		network => 'host', limits => {wall => '1m'}, filesystem => {write => ['./out']}}, "$who->{name}: the command line's rules");
	$run = run($who, [$EXEC, '-p', 'workspace', '--', 'sh', '-c', '(echo x >sbx.json) 2>/dev/null || echo kept'], cwd => $dir);
	is($run->{out}, "kept\n", "$who->{name}: no command changes the policy of later ones, also under another policy");
	unlink "$dir/sbx.json" or die;
	$run = run($who, [$PLAN, '--init', '--deny', 'x', $dir]);
	is($run->{code}, 2, "$who->{name}: an option that no policy can have");
	ok(!-e "$dir/sbx.json", "$who->{name}: then nothing is written");
	for (['a', 'b'], ['--json'], ['--check'], ['--rules'], ['--format', 'tree'], ["$who->{home}/none"]) {
		is(run($who, [$PLAN, '--init', @$_])->{code}, 2, "$who->{name}: not --init @$_");
	}
}
done_testing();
