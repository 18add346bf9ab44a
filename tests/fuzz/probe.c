/* The file of the probe's answer: what is believed is written back as the same bytes. The first byte
 * says whether the key comes before what is left. */
#include "fuzz/fuzz.h"
#include "run/cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char key[] = "sbx-probe of nothing\nfact\n";
	CLEANUP_FREE char *text = xcalloc(size + sizeof(key), 1);
	size_t len = 0;
	struct probe probe;

	if (size && *data == '+') {
		memcpy(text, key, sizeof(key) - 1);
		len = sizeof(key) - 1;
		data++, size--;
	}
	if (size)
		memcpy(text + len, data, size);
	len += size;
	if (cache_parse(&probe, key, text, len)) {
		CLEANUP_FREE char *back = cache_format(key, &probe);
		struct probe again;

		PROMISE(cache_parse(&again, key, back, strlen(back)), "%s", back);
		PROMISE(strlen(back) <= len, "more than was there: %s", back);
		for (int f = 0; f < PROBE_FEATURES; f++)
			PROMISE(probe.features[f].works == again.features[f].works, "%d", f);
	}
	return 0;
}
