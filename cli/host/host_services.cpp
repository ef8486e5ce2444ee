#include "host/host_services.hpp"

#include <string_view>

namespace verlc {
namespace {

constexpr std::string_view kHostVersion = VERLC_VERSION;

}  // namespace

HostServices::HostServices(CachingAllocator& allocator, Executor& executor, LogService& log)
    : allocator_(allocator),
      log_(log),
      memory_(allocator),
      threads_(executor, comm_),
      table_{VERLC_HEAD(verlc_host),
             VERLC_ABI_MAJOR,
             VERLC_ABI_MINOR,
             this,
             {kHostVersion.data(), kHostVersion.size()},
             find} {}

const void* HostServices::find(void* self, const char* id) noexcept {
  const auto* host = static_cast<const HostServices*>(self);
  const std::string_view wanted = id == nullptr ? "" : id;
  if (wanted == VERLC_SERVICE_LOG) return host->log_.table();
  if (wanted == VERLC_SERVICE_MEMORY) return host->memory_.table();
  if (wanted == VERLC_SERVICE_COMM) return host->comm_.table();
  if (wanted == VERLC_SERVICE_METRICS) return host->metrics_.table();
  if (wanted == VERLC_SERVICE_CANCEL) return host->cancel_.table();
  if (wanted == VERLC_SERVICE_THREADS) return host->threads_.table();
  return nullptr;
}

}  // namespace verlc
