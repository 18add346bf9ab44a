# docs/sbx-policy.schema.json and the reader agree on tests/schema/documents: here the schema's half, in
# tests/unit/test_schema.c the reader's. What the two cannot agree on, each row says why. All policies of the tree are valid,
# and the schema has every key that the reader has, each with a description.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin;
use JSON::PP;
use Test::More;

my $root = abs_path("$FindBin::Bin/../..");
my $file = "$root/docs/sbx-policy.schema.json";

sub slurp {
	open my $in, '<', $_[0] or die "$_[0]: $!";
	local $/;
	return scalar <$in>;
}

# A schema's "$" is the end of the string, Python's may stand before a newline there.
my $validate = <<'END';
import json, sys
from jsonschema import Draft202012Validator as Validator

def ends(schema):
    if isinstance(schema, dict):
        return {k: v.replace("$", "\\Z") if k == "pattern" and isinstance(v, str) else ends(v) for k, v in schema.items()}
    return [ends(v) for v in schema] if isinstance(schema, list) else schema

schema = json.load(open(sys.argv[1]))
Validator.check_schema(schema)
validator = Validator(ends(schema))
for line in sys.stdin:
    print(next((e.json_path + ": " + e.message for e in validator.iter_errors(json.loads(line))), "valid")[:400].replace("\n", " "))
END

# The keys of every object that names all that it may have, and those without a description. Other objects are conditions.
my $schema = decode_json(slurp($file));
my (%known, @bare);
sub walk {
	my ($node) = @_;
	return map { walk($_) } @$node if ref $node eq 'ARRAY';
	return if ref $node ne 'HASH';
	my $named = exists $node->{additionalProperties} && $node->{properties} || {};
	for my $key (sort keys %$named) {
		my $ref = ($named->{$key}{'$ref'} // '') =~ m{^#/\$defs/(.*)} ? $schema->{'$defs'}{$1} : {};
		$known{$key} = 1;
		push @bare, $key if !length($named->{$key}{description} // $ref->{description} // '');
	}
	walk($_) for values %$node;
}
walk($schema);
my %read = map { $_ => 1 } slurp("$root/src/policy/layer.c") =~ /"([^"]+)",\s*read_\w+/g;
cmp_ok(scalar keys %read, '>', 50, 'the reader has its keys in tables');
is(join(' ', sort keys %known), join(' ', sort keys %read), 'the schema has the keys of the reader');
is("@bare", '', 'every key has a description');

SKIP: {
	my $has = `python3 -c 'import jsonschema; jsonschema.Draft202012Validator' 2>&1`;
	die "python3-jsonschema: $has" if $has && $ENV{CI};
	skip "python3 has no jsonschema: $has", 1 if $has;
	my @rows = grep { !/^#/ } split /\n/, slurp("$root/tests/schema/documents");
	push @rows, map { "both accept\t" . slurp($_) =~ s/\s+/ /gr } glob "$root/{,contrib/}policies/*.json";
	open my $python, '-|', 'sh', '-c', 'printf "%s\n" "$3" | python3 -c "$1" "$2"', 'sh', $validate, $file,
		join "\n", map { (split /\t/)[1] } @rows or die;
	chomp(my @verdicts = <$python>);
	close $python;
	is(scalar @verdicts, scalar @rows, 'every document has a verdict');
	my (@wrong, %count);
	for my $i (0 .. $#rows) {
		my ($want, $document, $why) = split /\t/, $rows[$i];
		$count{$want}++;
		push @wrong, "without a reason: $document" if ($want =~ /^both/) == defined $why;
		push @wrong, "$want, but $verdicts[$i]: $document" if ($want =~ /accepts?$/) != ($verdicts[$i] eq 'valid');
	}
	is(join("\n", @wrong), '', 'the schema on ' . @rows . ' documents');
	is(join(', ', sort keys %count), 'both accept, both refuse, schema accepts', 'the verdicts that there are');
	cmp_ok($count{$_}, '>', 200, "$_ more than 200") for 'both accept', 'both refuse';
}
done_testing();
