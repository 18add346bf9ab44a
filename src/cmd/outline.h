/*
 * The view of a proven plan as a tree for people: each place at which what can be done, or the reason
 * for it, differs from what is above it. Below a place without places of its own everything is alike.
 */
#ifndef SBX_CMD_OUTLINE_H
#define SBX_CMD_OUTLINE_H

#include "plan/explain.h"

#include <stdbool.h>
#include <stdio.h>

/* Prints a line a place, deeper ones further to the right: its name, with what a link has in it; what
 * the command's user can do there ("read", "write", "deny", or "list" for a directory of the sandbox's
 * own that only holds places below it); and, where it is another than above, the rule: its why, name
 * or pointer, and its policy. Many entries of a directory that are alike share a line. Lines are cut
 * to 80 columns, names are not, and have every byte escaped that could steer a terminal. color: with
 * the escape sequences for colours. The same plan and tree give the same text. */
void outline_print(FILE *out, const struct explainer *e, bool color);

#endif
