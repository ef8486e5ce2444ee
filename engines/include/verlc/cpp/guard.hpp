// Strings, statuses and exceptions at the boundary. Part of verlc/plugin.hpp.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "verlc/plugin.h"

namespace verlc::plugin {

/// Borrowed both ways; a NULL pointer with size 0 is the empty text.
inline std::string_view to_view(verlc_string text) {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
}
inline verlc_string to_abi(std::string_view text) {
  return {text.data(), text.size()};
}

/// Zeroed struct of the ABI with its head filled in.
template <typename T>
[[nodiscard]] T make_struct() {
  T value{};
  value.head.size = sizeof(T);
  return value;
}

/// Thrown inside a plugin to choose the status that crosses the boundary.
class Failure : public std::exception {
 public:
  Failure(verlc_status status, std::string message, uint32_t kind = 0)
      : status_(status), kind_(kind), message_(std::move(message)) {}
  [[nodiscard]] verlc_status status() const noexcept { return status_; }
  /// VERLC_ERROR_... bits.
  [[nodiscard]] uint32_t kind() const noexcept { return kind_; }
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

 private:
  verlc_status status_;
  uint32_t kind_;
  std::string message_;
};

/// Fills `error` (may be NULL) and returns `status`.
inline verlc_status set_error(verlc_error* error, verlc_status status, uint32_t kind,
                              const char* message) noexcept {
  if (error != nullptr && VERLC_HAS(error, verlc_error, kind)) error->kind = kind;
  return verlc_fail(error, status, message);
}

/// Runs `body` (returning void or verlc_status) and turns exceptions into a status: Failure keeps its own,
/// bad_alloc becomes VERLC_E_MEMORY_HOST, any other std::exception VERLC_E_INTERNAL with its what(). Never
/// throws.
template <typename Body>
verlc_status guard(verlc_error* error, Body&& body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return VERLC_OK;
    } else {
      return body();
    }
  } catch (const Failure& failure) {
    return set_error(error, failure.status(), failure.kind(), failure.what());
  } catch (const std::bad_alloc&) {
    return set_error(error, VERLC_E_MEMORY_HOST, 0, "out of host memory");
  } catch (const std::exception& exception) {
    return set_error(error, VERLC_E_INTERNAL, 0, exception.what());
  } catch (...) {
    return set_error(error, VERLC_E_INTERNAL, 0, "an exception that is not a std::exception");
  }
}

/// Throws Failure when `status` is an error; passes VERLC_OK, VERLC_AGAIN and VERLC_END through.
inline verlc_status throw_if_failed(verlc_status status, const verlc_error& error) {
  if (status < 0) throw Failure(status, error.message[0] != 0 ? error.message : "no message", error.kind);
  return status;
}

/// Hands bytes to a sink (at least one call, also for empty text); throws Failure when the sink refuses.
inline void send_to_sink(verlc_sink sink, void* context, int32_t kind, std::string_view bytes) {
  const verlc_status status = sink(context, kind, to_abi(bytes));
  if (status < 0) throw Failure(status, "the receiver of the result refused it");
}

/// A sink that appends to the std::string given as context.
inline verlc_status append_to_string(void* context, int32_t /*kind*/, verlc_string data) noexcept {
  return guard(nullptr, [&] { static_cast<std::string*>(context)->append(to_view(data)); });
}

}  // namespace verlc::plugin
