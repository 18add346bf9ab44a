#include "cmd/features.h"

#include "base/json.h"
#include "base/mem.h"
#include "cmd/options.h"

#include <stdio.h>
#include <string.h>

static const char *const procs[] = {
	[PROBE_PROC_NONE] = "none",
	[PROBE_PROC_FRESH] = "fresh",
	[PROBE_PROC_BIND] = "bind",
};

/* Whether bwrap follows symbolic links in the places it mounts on: known for releases before 0.12.0
 * (CVE-2026-87766), of which a distribution may have mended its own. */
static bool follows_links(const struct probe *probe)
{
	return probe->version[0] == 0 && probe->version[1] < 12;
}

static char *version_text(const struct probe *probe)
{
	const unsigned *v = probe->version;

	return xasprintf("%u.%u.%u", v[0], v[1], v[2]);
}

static void add_result(json *all, const struct probe *probe, enum probe_feature feature)
{
	const struct probe_result *result = &probe->features[feature];
	CLEANUP_FREE char *remedy = cause_remedy(result->cause, &probe->names);
	json *object = json_add(all, probe_feature_name(feature), json_new_object());

	json_add_bool(object, "works", result->works);
	if (result->works)
		return;
	json_add_string(object, "cause", cause_name(result->cause));
	json_add_string(object, "why", cause_words(result->cause));
	json_add_string(object, "remedy", remedy);
	json_add_string(object, "said", result->said);
}

static void add_bwrap(json *root, const struct features *f)
{
	json *bwrap;

	if (!f->bwrap) {
		json_add_null(root, "bwrap");
		return;
	}
	bwrap = json_add(root, "bwrap", json_new_object());
	json_add_string(bwrap, "path", f->bwrap);
	if (f->probe && f->probe->has_version) {
		CLEANUP_FREE char *version = version_text(f->probe);

		json_add_string(bwrap, "version", version);
		json_add_bool(bwrap, "follows_links", follows_links(f->probe));
	} else {
		json_add_null(bwrap, "version");
		json_add_null(bwrap, "follows_links");
	}
}

static void add_limits(json *root, const struct features *f)
{
	json *all = json_add(root, "limits", json_new_object());

	json_add_string(json_add(all, "wall", json_new_object()), "by", "supervisor");
	json_add_string(json_add(all, "output", json_new_object()), "by", "supervisor");
	for (int i = 0; i < LIMITS; i++) {
		json *one = json_add(all, limit_name((enum limit)i), json_new_object());

		if (f->limits->by[i]) {
			json_add_string(one, "by", f->limits->by[i]);
			continue;
		}
		json_add_null(one, "by");
		json_add_string(one, "why", f->limits->why[i]);
		json_add_string(one, "remedy", LIMITS_REMEDY);
	}
}

static void print_json(const struct features *f)
{
	CLEANUP_JSON json *root = json_new_object();
	CLEANUP_FREE char *text = NULL;
	json *features, *notes, *error;

	json_add_number(root, "sbx", 1);
	json_add_bool(root, "isolates", !f->err);
	add_bwrap(root, f);
	json_add_string(root, "proc", procs[f->proc]);
	features = json_add(root, "features", json_new_object());
	for (int i = 0; f->probe && i < PROBE_FEATURES; i++)
		add_result(features, f->probe, (enum probe_feature)i);
	add_limits(root, f);
	notes = json_add(root, "notes", json_new_array());
	for (size_t i = 0; i < f->notes->n; i++)
		json_add_string(notes, NULL, f->notes->v[i]);
	if (f->err) {
		error = json_add(root, "error", json_new_object());
		json_add_string(error, "message", f->err->message);
		json_add_string(error, "hint", err_hint_text(f->err));
	} else {
		json_add_null(root, "error");
	}
	text = json_print(root, true);
	puts(text);
}

static void print_line(const char *label, const char *text)
{
	printf("%-18s", label);
	print_escaped(stdout, text);
	putchar('\n');
}

/* Many features often lack for one reason: what has been printed before is not printed again. */
static void print_missing(const struct features *f, enum probe_feature feature)
{
	const struct probe_result *result = &f->probe->features[feature];
	CLEANUP_FREE char *no = xasprintf("no: %s", cause_words(result->cause));
	CLEANUP_FREE char *text = cause_remedy(result->cause, &f->probe->names);
	CLEANUP_FREE char *remedy = xasprintf("remedy: %s", text);
	bool said = !*result->said, explained = false;

	for (int i = 0; i < (int)feature; i++) {
		const struct probe_result *before = &f->probe->features[i];

		if (before->works)
			continue;
		said = said || strcmp(before->said, result->said) == 0;
		explained = explained || before->cause == result->cause;
	}
	print_line(probe_feature_name(feature), no);
	if (!said)
		print_line("", result->said);
	if (!explained)
		print_line("", remedy);
}

static void print_limits(const struct features *f)
{
	bool explained = false;

	print_line("limits.wall", "by the supervisor");
	print_line("limits.output", "by the supervisor");
	for (int i = 0; i < LIMITS; i++) {
		CLEANUP_FREE char *label = xasprintf("limits.%s", limit_name((enum limit)i));
		CLEANUP_FREE char *how = f->limits->by[i]
						 ? xasprintf("by %s", f->limits->by[i])
						 : xasprintf("by nothing: %s", f->limits->why[i]);

		print_line(label, how);
		if (!f->limits->by[i] && !explained) {
			print_line("", "remedy: " LIMITS_REMEDY);
			explained = true;
		}
	}
}

static void print_text(const struct features *f)
{
	CLEANUP_FREE char *bwrap = NULL;

	if (f->bwrap && f->probe && f->probe->has_version) {
		CLEANUP_FREE char *version = version_text(f->probe);

		bwrap = xasprintf("%s (%s)", f->bwrap, version);
	}
	print_line("bwrap", bwrap ? bwrap : f->bwrap ? f->bwrap : "none");
	if (bwrap && follows_links(f->probe))
		print_line("", "releases before 0.12.0 follow symbolic links in the places they "
			       "mount on; no place of sbx's has one");
	print_line("/proc", procs[f->proc]);
	for (int i = 0; f->probe && i < PROBE_FEATURES; i++)
		if (f->probe->features[i].works)
			print_line(probe_feature_name((enum probe_feature)i), "yes");
		else
			print_missing(f, (enum probe_feature)i);
	print_limits(f);
	for (size_t i = 0; i < f->notes->n; i++)
		print_line(i ? "" : "notes", f->notes->v[i]);
	print_line("isolates", f->err ? "no" : "yes: commands can be isolated here");
}

void features_print(const struct features *f, bool as_json)
{
	if (as_json)
		print_json(f);
	else
		print_text(f);
}
