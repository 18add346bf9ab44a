#!/usr/bin/perl
# The host as it is.
use strict;
use warnings;
use FindBin;
use Test::More;
BEGIN { require "$FindBin::Bin/lib.pl" }

attempt('plain host', 'root');
attempt('plain host', 'user', as_user());
done_testing();
