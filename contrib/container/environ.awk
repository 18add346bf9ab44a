# Prints variables as a JSON object of strings, in the order of their names: the words NAME=VALUE given, or, with -v environ=1,
# those of the process itself. The latter is run as a step of an image's build, where it has what the image's ENV says, and
# what the engine adds: a home, a host name and its caller's proxies. Those are left out; a proxy's address may hold a
# password. So are names that sbx would not take. With -v out=FILE it goes into that file.
BEGIN {
	for (i = 1; i < 32; i++)
		escape[sprintf("%c", i)] = sprintf("\\u%04x", i)
	escape["\""] = "\\\""
	escape["\\"] = "\\\\"

	for (i = 1; i < ARGC; i++) {
		at = index(ARGV[i], "=")
		value[substr(ARGV[i], 1, at - 1)] = substr(ARGV[i], at + 1)
	}
	if (environ)
		for (name in ENVIRON)
			if (name !~ /^(HOME|HOSTNAME|container|.*_proxy|.*_PROXY)$/)
				value[name] = ENVIRON[name]

	for (name in value) {
		if (name !~ /^[A-Za-z_][A-Za-z0-9_]*$/)
			continue
		for (i = n++; i > 0 && names[i] > name; i--)
			names[i + 1] = names[i]
		names[i + 1] = name
	}
	text = "{"
	for (i = 1; i <= n; i++)
		text = text (i > 1 ? "," : "") "\n\t\"" names[i] "\": \"" json(value[names[i]]) "\""
	text = text "\n}\n"
	if (out)
		printf "%s", text >out
	else
		printf "%s", text
}

function json(string, i, c, result) {
	for (i = 1; i <= length(string); i++) {
		c = substr(string, i, 1)
		result = result (c in escape ? escape[c] : c)
	}
	return result
}
