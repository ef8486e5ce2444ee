// Small models written by transformers (scripts/golden/models.py): logits through log-probs and entropies,
// gradients, ten AdamW steps.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "core/base/thread_pool.hpp"
#include "core/hf/checkpoint.hpp"
#include "core/hf/safetensors_file.hpp"
#include "core/kernels/cpu/elementwise.hpp"
#include "core/memory/heap_allocator.hpp"
#include "core/models/causal_forward.hpp"
#include "core/nn/packed_attention.hpp"
#include "core/nn/rotary_table.hpp"

using namespace verlc;

namespace {

const std::filesystem::path kGolden = std::filesystem::path(VERLC_SOURCE_DIR) / "tests/data/golden";

template <typename T>
std::vector<T> read(const hf::SafetensorsFile& file, const std::string& name) {
  const hf::TensorView* view = file.find(name);
  REQUIRE(view != nullptr);
  std::vector<T> values(static_cast<size_t>(view->size()));
  std::memcpy(values.data(), view->bytes.data(), view->bytes.size());
  return values;
}

// |got - want| relative to the size of the whole tensor, as one compares logits.
double relative_error(std::span<const float> got, const std::vector<float>& want) {
  REQUIRE(got.size() == want.size());
  double worst = 0, largest = 1e-6;
  for (size_t i = 0; i < want.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(got[i]) - want[i]));
    largest = std::max(largest, std::abs(static_cast<double>(want[i])));
  }
  return worst / largest;
}

// The stored log-probs, or, where only logits are stored (the sharded copy), those made from them.
std::vector<float> expected_logprobs(const hf::SafetensorsFile& file, const std::string& temperature) {
  if (file.find("logprob." + temperature) != nullptr) return read<float>(file, "logprob." + temperature);
  const std::vector<float> logits = read<float>(file, "logits");
  const std::vector<int32_t> tokens = read<int32_t>(file, "tokens"),
                             cu_seqlens = read<int32_t>(file, "cu_seqlens");
  const size_t vocab = logits.size() / tokens.size();
  std::vector<float> logp(tokens.size(), 0.0f);
  for (size_t s = 0; s + 1 < cu_seqlens.size(); ++s)
    for (auto t = static_cast<size_t>(cu_seqlens[s]) + 1; t < static_cast<size_t>(cu_seqlens[s + 1]); ++t) {
      double sum = 0;
      for (size_t j = 0; j < vocab; ++j) sum += std::exp(static_cast<double>(logits[(t - 1) * vocab + j]));
      logp[t] = static_cast<float>(logits[(t - 1) * vocab + static_cast<size_t>(tokens[t])] - std::log(sum));
    }
  return logp;
}

// One process, whole weights.
struct LocalModel {
  HeapAllocator memory;
  ThreadPool pool{2};
  Context context{memory, pool};
  Model model;
  RotaryTable rotary;
  std::shared_ptr<std::vector<int32_t>> cu_seqlens;
  std::vector<int32_t> tokens, positions;
  ResidentUnits resident;

  explicit LocalModel(const std::filesystem::path& folder)
      : model(read_model_config(folder)), rotary(memory, model.config().rope, model.config().head_dim) {
    const hf::HfCheckpoint checkpoint = hf::HfCheckpoint::open(folder);
    for (Parameter* parameter : model.parameters()) {
      Tensor value = context.empty(parameter->shape, Category::param);
      checkpoint.read_f32(parameter->name, parameter->shape, value.f32());
      parameter->var = Var::leaf(value);
    }
  }

  void load_batch(const hf::SafetensorsFile& expected) {
    tokens = read<int32_t>(expected, "tokens");
    cu_seqlens = std::make_shared<std::vector<int32_t>>(read<int32_t>(expected, "cu_seqlens"));
    for (size_t s = 0; s + 1 < cu_seqlens->size(); ++s)
      for (int32_t t = (*cu_seqlens)[s]; t < (*cu_seqlens)[s + 1]; ++t)
        positions.push_back(t - (*cu_seqlens)[s]);
  }

  // Log-probs and entropies, [T] with 0 at first tokens; the backward of token-mean negative log-prob when
  // asked.
  std::vector<std::vector<float>> forward(float temperature, bool train, bool recompute,
                                          double* loss = nullptr) {
    PackedAttention attention(std::make_shared<PackedSegments>(PackedSegments{*cu_seqlens, {}}));
    const RotaryRows rows = rotary.rows(positions, *cu_seqlens);
    Tape tape(context, train);
    const ForwardContext forward{tape, attention, rows.view()};
    const Tensor ids = Tensor::borrow(tokens.data(), {static_cast<int64_t>(tokens.size())}, DType::i32);
    const std::vector<uint8_t> mask(tokens.size(), 1);
    const std::vector<float> temperatures(cu_seqlens->size() - 1, temperature);
    const LogprobRows chosen = logprob_rows(tokens, *cu_seqlens, mask, temperatures);
    const Var hidden = forward_hidden(model, forward, ids, resident, recompute);
    const std::vector<Var> out = forward_logprob(model, forward, hidden, chosen, true);
    std::vector<std::vector<float>> result(2, std::vector<float>(tokens.size(), 0.0f));
    for (size_t r = 0; r < chosen.tokens.size(); ++r)
      for (size_t o = 0; o < 2; ++o)
        result[o][static_cast<size_t>(chosen.tokens[r])] = out[o].value().f32()[r];
    if (train) {
      const auto count = static_cast<int64_t>(chosen.tokens.size());
      Tensor d_logp = context.empty({count});
      *loss = 0;
      for (int64_t r = 0; r < count; ++r) {
        d_logp.f32()[r] = -1.0f / static_cast<float>(count);
        *loss -= out[0].value().f32()[r] / static_cast<double>(count);
      }
      const std::vector<Tensor> seeds = {d_logp, Tensor()};
      tape.backward(out, seeds);
    }
    return result;
  }
};

std::vector<std::string> goldens() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden))
    if (std::filesystem::exists(entry.path() / "expected.safetensors"))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void check_entropy_and_logprob(LocalModel& local, const hf::SafetensorsFile& expected) {
  for (const auto& [name, temperature] : {std::pair{"t1.0", 1.0f}, std::pair{"t0.7", 0.7f}}) {
    const std::vector<std::vector<float>> got = local.forward(temperature, false, false);
    const bool stored = expected.find(std::string("logprob.") + name) != nullptr;
    if (stored || temperature == 1.0f)
      CHECK(relative_error(got[0], expected_logprobs(expected, name)) < 1e-4);
    if (expected.find(std::string("entropy.") + name) != nullptr)
      CHECK(relative_error(got[1], read<float>(expected, std::string("entropy.") + name)) < 1e-4);
  }
}

void check_gradients(LocalModel& local, const hf::SafetensorsFile& expected) {
  for (Parameter* parameter : local.model.parameters()) {
    INFO(parameter->name);
    CHECK(relative_error(parameter->var.grad().floats(), read<float>(expected, "grad." + parameter->name)) <
          1e-4);
  }
}

// Loss and gradient norm of ten steps of AdamW with clipping at 1, as the script ran them.
void check_adamw(LocalModel& local, const hf::SafetensorsFile& expected) {
  const std::vector<float> losses = read<float>(expected, "adamw.loss"),
                           norms = read<float>(expected, "adamw.grad_norm");
  std::vector<std::pair<Tensor, Tensor>> moments;
  for (Parameter* parameter : local.model.parameters())
    moments.emplace_back(local.context.zeros(parameter->shape, Category::optimizer),
                         local.context.zeros(parameter->shape, Category::optimizer));
  for (size_t step = 0; step < losses.size(); ++step) {
    double loss = 0, square = 0;
    for (Parameter* parameter : local.model.parameters()) parameter->var.set_grad(Tensor());
    local.forward(1.0f, true, false, &loss);
    for (Parameter* parameter : local.model.parameters())
      square += kernels::sum_of_squares(local.pool, parameter->var.grad().f32(),
                                        static_cast<size_t>(parameter->var.grad().size()));
    const double norm = std::sqrt(square);
    INFO("step " << step + 1);
    CHECK(loss == Approx(losses[step]).epsilon(1e-4));
    CHECK(norm == Approx(norms[step]).epsilon(1e-3));
    kernels::AdamWStep options;
    options.lr = std::stod(expected.metadata().at("adamw.lr"));
    options.weight_decay = std::stod(expected.metadata().at("adamw.weight_decay"));
    options.step = static_cast<int64_t>(step) + 1;
    options.grad_scale = static_cast<float>(std::min(1.0, 1.0 / (norm + 1e-6)));
    size_t i = 0;
    for (Parameter* parameter : local.model.parameters()) {
      const auto count = static_cast<size_t>(parameter->var.value().size());
      kernels::adamw(local.pool, options, parameter->var.value().f32(), parameter->var.grad().f32(),
                     moments[i].first.f32(), moments[i].second.f32(), count);
      ++i;
    }
  }
}

}  // namespace

TEST_CASE("models agree with transformers") {
  const std::vector<std::string> names = goldens();
  REQUIRE(names.size() >= 8);
  for (const std::string& name : names) {
    DYNAMIC_SECTION(name) {
      LocalModel local(kGolden / name);
      const hf::SafetensorsFile expected(kGolden / name / "expected.safetensors");
      local.load_batch(expected);
      check_entropy_and_logprob(local, expected);
      if (expected.find("adamw.loss") == nullptr) continue;
      double loss = 0;
      const bool recompute = GENERATE(false, true);
      for (Parameter* parameter : local.model.parameters()) parameter->var.set_grad(Tensor());
      local.forward(1.0f, true, recompute, &loss);
      check_gradients(local, expected);
      if (!recompute) check_adamw(local, expected);
    }
  }
}
