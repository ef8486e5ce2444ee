/* plugin.h as C11 under -Wpedantic -Wpadded: no compiler padding, and every offset as released. */
#include "verlc/plugin.h"

#define VERLC_SIZE(Type, bytes) _Static_assert(sizeof(Type) == (bytes), #Type " keeps its size");
#define VERLC_OFFSET(Type, member, bytes) \
  _Static_assert(offsetof(Type, member) == (bytes), #Type "." #member " stays");
#include "unit/abi/layout_1_0.inc"

int verlc_layout_c11(void);
int verlc_layout_c11(void) {
  return (int)sizeof(verlc_note);
}
