#include "rollout/kv_cache.hpp"

#include <cstring>

namespace verlc::rollout {

KvCache::KvCache(const Context& context, const CachePlan& plan, int64_t num_layers)
    : context_(context), plan_(plan), num_layers_(num_layers), half_floats_(plan.page_floats / 2) {}

void KvCache::allocate() {
  std::vector<Tensor> layers;
  for (int64_t i = 0; i < num_layers_; ++i)
    layers.push_back(context_.empty({plan_.num_pages * plan_.page_floats}, Category::kv_cache));
  layers_ = std::move(layers);
}

void KvCache::copy(std::span<const PageCopy> copies) const {
  if (copies.empty()) return;
  const size_t bytes = static_cast<size_t>(half_floats_) * sizeof(float);
  context_.threads.for_each(static_cast<int>(num_layers_), [&](int layer) {
    for (const PageCopy& each : copies) {
      std::memcpy(k_page(layer, each.to), k_page(layer, each.from), bytes);
      std::memcpy(v_page(layer, each.to), v_page(layer, each.from), bytes);
    }
  });
}

}  // namespace verlc::rollout
