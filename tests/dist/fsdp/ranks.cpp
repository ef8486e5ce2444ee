#include "dist/fsdp/ranks.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "core/base/rng.hpp"
#include "core/base/weights_digest.hpp"
#include "core/hf/safetensors_file.hpp"
#include "host/comm/transports.hpp"

namespace verlc::fsdp::test {

namespace fs = std::filesystem;

TempFolder::TempFolder() {
  static std::atomic<int> count{0};
  path_ = fs::temp_directory_path() /
          ("verlc_fsdp_" + std::to_string(::getpid()) + "_" + std::to_string(count.fetch_add(1)));
  fs::create_directories(path_);
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path golden(const std::string& name) {
  return fs::path(VERLC_SOURCE_DIR) / "tests/data/golden" / name;
}

void Sequences::add(const std::vector<int32_t>& sequence, float t) {
  for (size_t i = 0; i < sequence.size(); ++i) {
    tokens.push_back(sequence[i]);
    positions.push_back(static_cast<int32_t>(i));
    mask.push_back(i == 0 ? 0 : 1);
  }
  cu_seqlens.push_back(static_cast<int32_t>(tokens.size()));
  temperature.push_back(t);
}

Sequences Sequences::part(size_t first, size_t last) const {
  Sequences result;
  for (size_t s = first; s < last; ++s) {
    const auto begin = static_cast<size_t>(cu_seqlens[s]), end = static_cast<size_t>(cu_seqlens[s + 1]);
    for (size_t t = begin; t < end; ++t) {
      result.tokens.push_back(tokens[t]);
      result.positions.push_back(positions[t]);
      result.mask.push_back(mask[t]);
    }
    result.cu_seqlens.push_back(static_cast<int32_t>(result.tokens.size()));
    result.temperature.push_back(temperature[s]);
    if (!shared_prefix.empty())
      result.shared_prefix.insert(result.shared_prefix.end(),
                                  {shared_prefix[2 * s], shared_prefix[2 * s + 1]});
  }
  return result;
}

double Sequences::loss_tokens() const {
  return static_cast<double>(std::count_if(mask.begin(), mask.end(), [](uint8_t m) { return m != 0; }));
}

Batch Sequences::batch(uint64_t max_sequences, uint64_t max_tokens) const {
  Batch batch;
  batch.tokens = tokens;
  batch.positions = positions;
  batch.cu_seqlens = cu_seqlens;
  batch.mask = mask;
  batch.temperature = temperature;
  batch.shared_prefix = shared_prefix;
  batch.max_sequences = max_sequences;
  batch.max_tokens = max_tokens;
  return batch;
}

Sequences random_sequences(size_t count, int32_t vocab, size_t longest, uint64_t seed) {
  Sequences all;
  RandomStream random(seed, Purpose::minibatch, 0, 0);
  for (size_t s = 0; s < count; ++s) {
    std::vector<int32_t> sequence(2 + random.below(longest - 1));
    for (int32_t& token : sequence) token = static_cast<int32_t>(random.below(static_cast<uint64_t>(vocab)));
    all.add(sequence);
  }
  return all;
}

Rank::Rank(std::unique_ptr<Transport> transport, const Config& config)
    : world_(std::make_unique<ProcessGroup>(std::move(transport),
                                            GroupOptions{"world", std::chrono::seconds(60), nullptr})) {
  auto topology = plugin::make_struct<verlc_topology>();
  topology.world = services_.comm().handle(*world_);
  topology.dp = topology.world;
  topology.device_type = VERLC_DEVICE_CPU;
  engine_ = std::make_unique<Engine>(config, plugin::Host(services_.table()), topology);
}

Sequences Rank::own(const Sequences& all) const {
  const auto r = static_cast<size_t>(rank()), n = static_cast<size_t>(size());
  return all.part(all.count() * r / n, all.count() * (r + 1) / n);
}

std::vector<float> Rank::logp(const Batch& batch) {
  std::vector<float> values(batch.tokens.size(), -1.0f);
  engine_->forward_logp(batch, values.data(), nullptr);
  return values;
}

namespace {

struct SftLoss {
  const Batch& batch;
  double tokens;
  size_t calls = 0;

  static verlc_status run(void* context, verlc_micro_batch* micro, verlc_error*) noexcept {
    auto& loss = *static_cast<SftLoss*>(context);
    ++loss.calls;
    for (size_t i = 0; i < micro->token_count; ++i) {
      if (loss.batch.mask[micro->token_begin + i] == 0) continue;
      micro->loss -= static_cast<double>(micro->logp[i]) / loss.tokens;
      micro->d_logp[i] = static_cast<float>(-1.0 / loss.tokens);
    }
    return VERLC_OK;
  }
};

}  // namespace

double Rank::sft_backward(const Batch& batch, double tokens, size_t* calls) {
  SftLoss loss{batch, tokens};
  const double sum = engine_->forward_backward(batch, false, SftLoss::run, &loss);
  if (calls != nullptr) *calls = loss.calls;
  return sum;
}

verlc_optimizer_step Rank::step(double lr, double clip_grad) {
  auto step = plugin::make_struct<verlc_optimizer_step>();
  step.lr = lr;
  step.clip_grad = clip_grad;
  engine_->optimizer_step(step);
  return step;
}

void on_ranks(int count, const Config& config, const std::function<void(Rank&)>& body) {
  auto ends = make_thread_transports(count);
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (std::unique_ptr<Transport>& end : ends)
    threads.emplace_back([&, transport = &end] {
      std::unique_ptr<Rank> rank;
      try {
        rank = std::make_unique<Rank>(std::move(*transport), config);
        body(*rank);
      } catch (...) {
        {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
        if (rank) rank->world().abort(1, "another rank failed");
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

Arrays read_save(const fs::path& folder) {
  Arrays arrays;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const hf::SafetensorsFile file(entry.path());
    for (const hf::TensorView& view : file.tensors()) {
      std::string unit = view.name;
      if (unit.ends_with(".m") || unit.ends_with(".v")) unit.resize(unit.size() - 2);
      const auto begin = static_cast<size_t>(std::stoull(file.metadata().at("begin." + unit)));
      std::vector<float>& whole = arrays[view.name];
      whole.resize(static_cast<size_t>(std::stoull(file.metadata().at("size." + unit))));
      if (!view.bytes.empty()) std::memcpy(whole.data() + begin, view.bytes.data(), view.bytes.size());
    }
  }
  return arrays;
}

namespace {

void walk_export(Engine& engine, uint64_t bucket_bytes,
                 const std::function<void(const verlc_named_tensor&)>& take) {
  engine.export_begin(bucket_bytes);
  for (auto bucket = engine.export_next(3); !bucket.empty(); bucket = engine.export_next(3))
    for (const verlc_named_tensor* named : bucket) {
      take(*named);
      named->tensor->release(named->tensor);
    }
}

}  // namespace

Arrays export_all(Engine& engine, uint64_t bucket_bytes) {
  Arrays arrays;
  walk_export(engine, bucket_bytes, [&](const verlc_named_tensor& named) {
    const std::span<const float> values = plugin::elements<const float>(named.tensor->tensor, "weight");
    const bool is_new =
        arrays.emplace(plugin::to_view(named.name), std::vector<float>(values.begin(), values.end())).second;
    if (!is_new) throw std::runtime_error("a weight was exported twice");
  });
  return arrays;
}

std::string export_digest(Engine& engine) {
  WeightsDigest digest;
  walk_export(engine, 1 << 20, [&](const verlc_named_tensor& named) {
    const verlc_tensor& tensor = named.tensor->tensor;
    digest.add(plugin::to_view(named.name), plugin::element_name(plugin::element_type(tensor)),
               plugin::shape_of(tensor), plugin::raw_data(tensor), plugin::num_bytes(tensor));
  });
  return digest.hex();
}

double relative_gap(const Arrays& a, const Arrays& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (const auto& [name, values] : a) {
    const auto found = b.find(name);
    if (found == b.end() || found->second.size() != values.size())
      return std::numeric_limits<double>::infinity();
    double gap = 0, largest = 1e-30;
    for (size_t i = 0; i < values.size(); ++i) {
      gap = std::max(gap, std::abs(static_cast<double>(values[i]) - found->second[i]));
      largest = std::max(largest, std::abs(static_cast<double>(values[i])));
    }
    worst = std::max(worst, gap / largest);
  }
  return worst;
}

}  // namespace verlc::fsdp::test
