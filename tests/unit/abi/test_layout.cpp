// plugin.h as C++20: every offset as released; the frozen tensors as DLPack 1.x has them.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <type_traits>

#include "verlc/plugin.h"

#define VERLC_SIZE(Type, bytes) static_assert(sizeof(Type) == (bytes), #Type " keeps its size");
#define VERLC_OFFSET(Type, member, bytes) \
  static_assert(offsetof(Type, member) == (bytes), #Type "." #member " stays");
#include "unit/abi/layout_1_0.inc"

extern "C" int verlc_layout_c11(void);

TEST_CASE("C and C++ see one layout") {
  CHECK(verlc_layout_c11() == static_cast<int>(sizeof(verlc_note)));
}

TEST_CASE("tensors have DLPack's sizes") {
  CHECK(sizeof(verlc_tensor) == 48);
  CHECK(sizeof(verlc_managed_tensor) == 80);
  CHECK(std::is_trivially_copyable_v<verlc_managed_tensor>);
}

TEST_CASE("an error message is cut at its storage and never overruns a smaller struct") {
  verlc_error error{};
  error.head.size = sizeof error;
  const std::string text(5000, 'x');
  CHECK(verlc_fail(&error, VERLC_E_IO, text.c_str()) == VERLC_E_IO);
  CHECK(std::strlen(error.message) == sizeof error.message - 1);
  verlc_error small{};
  small.head.size = 16;  // a host that knows no message
  CHECK(verlc_fail(&small, VERLC_E_IO, "text") == VERLC_E_IO);
  CHECK(small.message[0] == 0);
  CHECK(verlc_fail(nullptr, VERLC_E_IO, "text") == VERLC_E_IO);
}

TEST_CASE("a member counts as present only when the struct reaches to its end") {
  verlc_host host{};
  host.head.size = offsetof(verlc_host, service) + sizeof host.service;
  CHECK(VERLC_HAS(&host, verlc_host, service));
  host.head.size -= 1;
  CHECK_FALSE(VERLC_HAS(&host, verlc_host, service));
}
