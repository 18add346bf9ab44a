/* First policies for directories on fake trees: what is found, what is not, and hostile names. */
#include "base/mem.h"
#include "cmd/init.h"
#include "lib/faketree.h"
#include "lib/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The policy in one line, what was found and the notes; freed by the caller. */
static char *answer(const char *tree_text, const char *home)
{
	struct tree *tree = faketree_parse(tree_text);
	struct options options = {0};
	struct init init = {0};
	CLEANUP_FREE char *policy = NULL;
	CLEANUP_FREE char *found = NULL;
	CLEANUP_FREE char *notes = NULL;
	char *text;

	strvec_push(&options.policies, "workspace");
	init_policy(&options, tree, "/w/p", home, &init);
	policy = json_print(options.flags, false);
	found = strvec_join(&init.found, "|");
	notes = strvec_join(&init.notes, "|");
	ok(options.policies.n == 0, "what it extends is in the policy");
	text = xasprintf("%s\n%s\n%s\n%zu", strstr(policy, "this directory") + 14, found, notes,
		init.secrets);
	init_clear(&init);
	options_clear(&options);
	faketree_free(tree);
	return text;
}

#define CACHE(path, name)                                                                          \
	"{\"path\":\"" path "\",\"optional\":true,\"why\":\"what tools for " name                  \
	" have downloaded; not writable, as the host's builds use it too\"}"

int main(void)
{
	static const struct {
		const char *name, *tree, *home, *want;
	} rows[] = {
		{"an empty directory", "d /w/p\n", "/h", "\"}\n\n\n0"},
		{"languages, below too, and the caches that are there",
			"f /w/p/a/package.json\nf /w/p/go.mod\nf /w/p/Cargo.toml\nf /w/p/Makefile\n"
			"d /h/.npm\nd /h/go/pkg/mod\nl /h/.cargo -> elsewhere\nd "
			"/h/elsewhere/registry\n"
			"f /h/.cache/yarn\nd /h/.cache/pip\n",
			"/h",
			": Node.js, Rust, Go, make\",\"filesystem\":{\"read\":[" CACHE(
				"~/.npm", "Node.js") "," CACHE("~/go/pkg/mod",
				"Go") "]},\"environment\":{\"set\":{\"GOCACHE\":\"/tmp/"
				      "go-build\"}}}\n"
				      "Node.js|Rust|Go|make\n\n0"},
		{"no home, no caches", "f /w/p/package.json\nd /.npm\n", NULL,
			": Node.js\"}\nNode.js\n\n0"},
		{"markers are files",
			"d /w/p/package.json\nl /w/p/go.mod -> x\np /w/p/Cargo.toml\n", "/h",
			"\"}\n\n\n0"},
		{"a repository", "d /w/p/.git\n", "/h",
			": a git repository\"}\na git repository\n\n0"},
		{"a linked worktree", "f /w/p/.git\n", "/h",
			": a git repository\"}\na git repository\n\n0"},
		{"a repository above", "d /w/p\nd /w/.git\n", "/h",
			"\"}\n\n/w is the top of the repository: a policy for that lets git "
			"commit\n0"},
		{"a link is no repository", "l /w/p/.git -> /elsewhere\nd /w/x\n", "/h",
			"\"}\n\n\n0"},
		{"secrets by name",
			"f /w/p/.env\nf /w/p/.env.example\nf /w/p/sub/prod.env\nf /w/p/id_rsa\n"
			"f /w/p/id_rsa.pub\nd /w/p/.ssh\nf /w/p/.ssh/id_rsa\nf /w/p/.aws\n",
			"/h",
			"\",\"filesystem\":{\"deny\":["
			"{\"path\":\"./.env\",\"why\":\"variables, often with passwords and "
			"keys\"},"
			"{\"path\":\"./.ssh\",\"why\":\"keys\"},"
			"{\"path\":\"./id_rsa\",\"why\":\"a private key\"},"
			"{\"path\":\"./sub/prod.env\",\"why\":\"variables, often with passwords "
			"and keys\"}"
			"]}}\n\n\n4"},
		{"secrets by what is in them",
			"f /w/p/a.pem 0644 0 0 =-----BEGIN CERTIFICATE-----\n"
			"f /w/p/b.pem 0644 0 0 =-----BEGIN EC PRIVATE KEY-----\n"
			"f /w/p/.npmrc 0644 0 0 =//r/:_authToken=x\nf /w/p/x/.npmrc 0644 0 0 "
			"=registry=x\n",
			"/h",
			"\",\"filesystem\":{\"deny\":["
			"{\"path\":\"./.npmrc\",\"mask\":\"empty\",\"why\":\"tokens of a package "
			"registry\"},"
			"{\"path\":\"./b.pem\",\"why\":\"a private key\"}]}}\n\n\n2"},
		{"what is not looked into or at",
			"f /w/p/node_modules/x/.env\nf /w/p/.git/x/.env\nf /w/p/target/.env\n"
			"l /w/p/.env -> /etc/shadow\np /w/p/a.env\ns /w/p/b.env\nd /w/p/c.env\n"
			"l /w/p/link -> /w/q\nf /w/q/.env\n",
			"/h", ": a git repository\"}\na git repository\n\n0"},
		{"names that are patterns, no text, or hostile",
			"f /w/p/\\133x\\135*\\134/.env\nf /w/p/\\377/id_rsa\nf "
			"/w/p/a\\042\\033\\012/.env\n"
			"f /w/p/-v\\040../.env\n",
			"/h",
			"\",\"filesystem\":{\"deny\":["
			"{\"path\":\"./-v ../.env\",\"why\":\"variables, often with passwords and "
			"keys\"},"
			"{\"path\":\"./\\\\[x\\\\]\\\\*\\\\\\\\/.env\",\"why\":\"variables, often "
			"with passwords"
			" and keys\"},"
			"{\"path\":\"./a\\\"\\u001b\\n/.env\",\"why\":\"variables, often with "
			"passwords and "
			"keys\"},"
			"{\"path\":\"./?/id_rsa\",\"why\":\"a private key\"}]}}\n\n\n4"},
		{"a directory that may not be listed",
			"uid 1000\nd /w/p/shut 0700 0 0\nf /w/p/shut/.env\n", "/h",
			"\"}\n\n/w/p/shut was not looked into: Permission denied\n0"},
		{"too deep", "f /w/p/1/2/3/4/5/6/7/8/.env\nf /w/p/1/2/3/4/5/6/7/8/9/.env\n", "/h",
			"\",\"filesystem\":{\"deny\":[{\"path\":\"./1/2/3/4/5/6/7/8/"
			".env\",\"why\":\""
			"variables, often with passwords and keys\"}]}}\n\nnot all was searched "
			"for secrets:"
			" at most 20000 entries, 8 levels and 256 secrets are\n1"},
	};
	CLEANUP_FREE char *many = NULL;
	CLEANUP_FREE char *got = NULL;
	size_t size;
	FILE *out = open_memstream(&many, &size);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP_FREE char *text = answer(rows[i].tree, rows[i].home);

		is_str(text, rows[i].want, "%s", rows[i].name);
	}
	for (int i = 0; i < 300; i++)
		fprintf(out, "f /w/p/%d.env\n", i);
	fclose(out);
	got = answer(many, "/h");
	ok(strstr(got, "not all was searched") && strcmp(strrchr(got, '\n'), "\n256") == 0,
		"too many secrets");
	return done_testing();
}
