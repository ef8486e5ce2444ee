/* Plugins that are wrong in one way each; MADE_UP says which. */
#include "verlc/plugin.h"

#if MADE_UP == 0 /* no plugin at all */
int verlc_plugin_open_v1(void);
int verlc_plugin_open_v1(void) {
  return 0;
}
#else

static const void* capability(void* self, const char* id) {
  (void)self;
  (void)id;
  return NULL;
}
static verlc_status describe(void* self, const char* id, verlc_sink sink, void* context, verlc_error* error) {
  (void)self;
  (void)id;
  (void)sink;
  (void)context;
  return verlc_fail(error, VERLC_E_UNSUPPORTED, "nothing to describe");
}
static verlc_status shutdown_plugin(void* self, verlc_error* error) {
  (void)self;
  (void)error;
  return VERLC_OK;
}
static const verlc_plugin kPlugin = {VERLC_HEAD(verlc_plugin),
                                     VERLC_ABI_MAJOR,
                                     VERLC_ABI_MINOR,
                                     0,
                                     0,
                                     {"made-up", 7},
                                     {"1", 1},
                                     {"c", 1},
                                     NULL,
                                     capability,
                                     describe,
                                     shutdown_plugin};
static verlc_status open_plugin(const verlc_host* host, const verlc_plugin** out, verlc_error* error) {
  (void)host;
#if MADE_UP == 5
  *(volatile int*)0 = 1;
#endif
#if MADE_UP == 4
  return verlc_fail(error, VERLC_E_STATE, "the moon is not full");
#else
  (void)error;
  *out = &kPlugin;
  return VERLC_OK;
#endif
}
#if MADE_UP == 1   /* wants a later minor */
VERLC_PLUGIN("too-new", "1", VERLC_CAPABILITY_REWARD, 7, open_plugin)
#elif MADE_UP == 2 /* note and table disagree about the id */
VERLC_PLUGIN("other-id", "1", "", 0, open_plugin)
#elif MADE_UP == 3 /* the note promises a capability that the table lacks */
VERLC_PLUGIN("made-up", "1", VERLC_CAPABILITY_REWARD, 0, open_plugin)
#else              /* 4: open fails */
VERLC_PLUGIN("made-up", "1", VERLC_CAPABILITY_REWARD, 0, open_plugin)
#endif
#endif
