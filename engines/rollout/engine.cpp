#include "rollout/engine.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "core/hf/model_files.hpp"
#include "core/text/eos.hpp"
#include "rollout/read_request.hpp"

namespace verlc::rollout {
namespace {

using plugin::Failure;
using Clock = std::chrono::steady_clock;

constexpr size_t kMaxUnfinished = size_t{1} << 20;
constexpr int64_t kFreeBytesUnlimited = int64_t{8} << 30;

int64_t free_bytes(const plugin::Host& host) {
  uint64_t limit = 0;
  uint64_t used = 0;
  host.memory()->budget(host.memory()->self, VERLC_DEVICE_CPU, 0, &limit, &used);
  if (limit > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return kFreeBytesUnlimited;
  return static_cast<int64_t>(limit - std::min(limit, used));
}

SchedulerLimits scheduler_limits(const RolloutConfig& config, const CachePlan& plan) {
  return {plan.num_pages,
          plan.page_size,
          config.max_num_seqs,
          config.max_num_batched_tokens,
          plan.max_model_len,
          config.enable_chunked_prefill,
          config.enable_prefix_caching};
}

class ResponseText final : public TextStream {
 public:
  explicit ResponseText(const text::Tokenizer& tokenizer) : decoder_(tokenizer, false) {}
  std::string push(int32_t token) override { return decoder_.push(token); }

 private:
  text::StreamDecoder decoder_;
};

}  // namespace

ModelText read_model_text(const std::filesystem::path& folder) {
  ModelText result;
  const hf::ModelFolder files(folder);
  if (files.has("tokenizer.json")) {
    result.tokenizer = text::Tokenizer::load(folder);
    result.stop_ids = text::read_stop_ids(folder, *result.tokenizer);
  } else {
    for (const int64_t id : files.eos_token_ids()) result.stop_ids.push_back(static_cast<int32_t>(id));
  }
  return result;
}

Engine::Engine(const plugin::Host& host, const RolloutConfig& config)
    : services_(host),
      memory_(services_.memory()),
      context_{memory_, services_.threads()},
      config_(config),
      model_(read_model_config(config.model)),
      text_(read_model_text(config.model)),
      cache_plan_(plan_cache(config, model_.config(), free_bytes(host))),
      weights_(context_, model_, config.precision()),
      cache_(context_, cache_plan_, model_.config().num_layers),
      runner_(context_, model_, weights_, cache_),
      scheduler_(scheduler_limits(config, cache_plan_)),
      queue_(kMaxUnfinished),
      samplers_(static_cast<size_t>(context_.threads.threads()),
                Sampler(static_cast<size_t>(model_.config().vocab))) {
  if (config.load_format == "auto") weights_.load(config.model);
  if (config.load_format == "dummy") weights_.load_random(static_cast<uint64_t>(config.seed));
  cache_.allocate();
  const int64_t positions = cache_plan_.num_pages * cache_plan_.page_size;
  services_.host().log(
      1, "rollout",
      fmt::format(
          "cache of {} pages of {} tokens = {} tokens, {:.1f} MiB; at most {} sequences of {} tokens at once",
          cache_plan_.num_pages, cache_plan_.page_size, positions,
          static_cast<double>(cache_plan_.num_pages * cache_plan_.page_bytes(model_.config().num_layers)) /
              (1 << 20),
          config.max_num_seqs, cache_plan_.max_model_len));
}

size_t Engine::submit(std::span<const verlc_request* const> requests) {
  const RequestRules rules{model_.config().vocab, cache_plan_.max_model_len, text_.tokenizer.has_value()};
  std::vector<Request> copies;
  for (const verlc_request* request : requests) copies.push_back(read_request(*request, rules));
  return queue_.submit(std::move(copies));
}

void Engine::abort(std::span<const uint64_t> ids) {
  queue_.abort(ids);
}

void Engine::take_arrivals() {
  RequestQueue::Arrivals arrivals = queue_.take();
  for (Request& request : arrivals.requests) {
    auto sequence = std::make_unique<Sequence>();
    std::unique_ptr<TextStream> text;
    if (!request.sampling.stop_strings.empty()) text = std::make_unique<ResponseText>(*text_.tokenizer);
    sequence->stop = StopMatcher(request.sampling, text_.stop_ids, std::move(text));
    if (request.sampling.repetition_penalty != 1)
      for (const int32_t id : request.prompt) sequence->seen.add(id);
    ++cancel_scopes_[request.cancel_scope];
    sequence->request = std::move(request);
    scheduler_.add(std::move(sequence));
  }
  for (const uint64_t id : arrivals.aborts)
    if (Sequence* sequence = scheduler_.find(id)) finish(*sequence, Finish::aborted);
}

verlc_status Engine::poll(std::vector<std::unique_ptr<Response>>& out, size_t most, int64_t timeout_ns) {
  const Clock::time_point start = Clock::now();
  while (true) {
    take_arrivals();
    if (!ready_.empty()) {
      while (!ready_.empty() && out.size() < most) {
        out.push_back(std::move(ready_.front()));
        ready_.pop_front();
      }
      return VERLC_OK;
    }
    if (scheduler_.empty()) return VERLC_END;
    require_serving();
    stop_if_cancelled();
    if (timeout_ns >= 0 && Clock::now() - start >= std::chrono::nanoseconds(timeout_ns) && timeout_ns > 0)
      return VERLC_AGAIN;
    step();
    if (timeout_ns == 0 && ready_.empty()) return VERLC_AGAIN;
  }
}

void Engine::require_serving() const {
  if (updating_) throw Failure(VERLC_E_STATE, "requests wait while a weight update is open; end it first");
  if (!weights_.present())
    throw Failure(VERLC_E_STATE,
                  "requests wait, but there are no weights; send them with update_begin, _part, _end");
  if (!cache_.present()) throw Failure(VERLC_E_STATE, "requests wait, but the cache sleeps; call wake(KV)");
}

void Engine::stop_if_cancelled() const {
  for (const auto& [scope, count] : cancel_scopes_) services_.host().stop_if_cancelled(scope);
}

void Engine::step() {
  if (step_open_) start_over();
  const StepPlan& plan = scheduler_.plan();
  step_open_ = true;
  const Tensor logits = runner_.run(plan);
  sample_rows(plan, logits);
  size_t next = 0;
  // Finishing sequences takes them out of the scheduler, not out of the plan.
  for (const StepItem& item : plan.items) {
    scheduler_.advance(item);
    if (item.sample) accept(*item.sequence, sampled_[next++]);
  }
  step_open_ = false;
}

void Engine::sample_rows(const StepPlan& plan, const Tensor& logits) {
  std::vector<const Sequence*> rows;
  for (const StepItem& item : plan.items)
    if (item.sample) rows.push_back(item.sequence);
  sampled_.resize(rows.size());
  const auto vocab = static_cast<size_t>(model_.config().vocab);
  const auto tasks = std::min(samplers_.size(), rows.size());
  context_.threads.for_each(static_cast<int>(tasks), [&](int task) {
    for (auto r = static_cast<size_t>(task); r < rows.size(); r += tasks) {
      const Sequence& sequence = *rows[r];
      SampleInput input;
      input.sampling = &sequence.request.sampling;
      input.seed = sequence.request.seed;
      input.index = static_cast<uint64_t>(sequence.num_sampled());
      input.seen = sequence.seen.ids();
      if (sequence.stop.must_continue()) input.forbidden = sequence.stop.ids();
      sampled_[r] = samplers_[static_cast<size_t>(task)].choose({logits.f32() + r * vocab, vocab}, input);
    }
  });
}

void Engine::accept(Sequence& sequence, const SampledToken& sampled) {
  if (!sampled.valid) {
    finish(sequence, Finish::error);
    return;
  }
  if (sequence.num_sampled() == 0) sequence.weights_first = version_;
  sequence.weights_last = version_;
  sequence.tokens.push_back(sampled.token);
  if (sequence.request.sampling.repetition_penalty != 1) sequence.seen.add(sampled.token);
  sequence.logp.push_back(sampled.logp);
  if (sequence.stop.push(sampled.token))
    finish(sequence, Finish::stop);
  else if (sequence.num_sampled() >= sequence.request.sampling.max_new_tokens ||
           sequence.num_tokens() >= cache_plan_.max_model_len)
    finish(sequence, Finish::length);
}

void Engine::finish(Sequence& sequence, Finish reason) {
  const std::unique_ptr<Sequence> done = scheduler_.remove(sequence);
  auto response = std::make_unique<Response>();
  response->id = done->request.id;
  response->weights_first = done->weights_first;
  response->weights_last = done->weights_last;
  response->tokens.assign(done->tokens.begin() + done->num_prompt(), done->tokens.end());
  response->logp = std::move(done->logp);
  response->finish = reason;
  const auto scope = cancel_scopes_.find(done->request.cancel_scope);
  if (--scope->second == 0) cancel_scopes_.erase(scope);
  queue_.finished(response->id);
  ready_.push_back(std::move(response));
}

void Engine::start_over() {
  scheduler_.preempt_all();
  step_open_ = false;
}

void Engine::update_begin(uint64_t version, bool keep_inflight) {
  if (updating_) throw Failure(VERLC_E_STATE, "a weight update is open already");
  if ((asleep_ & VERLC_PART_PARAM) != 0)
    throw Failure(VERLC_E_STATE, "the weights sleep; call wake(PARAM) first");
  const size_t unfinished = queue_.num_unfinished();
  if (unfinished > 0 && !keep_inflight)
    throw Failure(VERLC_E_STATE,
                  fmt::format("{} requests are unfinished; poll or abort them, or begin with keep_inflight",
                              unfinished));
  updating_ = true;
  next_version_ = version;
}

void Engine::update_part(std::span<const verlc_named_tensor* const> weights) {
  if (!updating_) throw Failure(VERLC_E_STATE, "no weight update is open");
  weights_.stage(weights);
}

void Engine::update_end(bool commit) {
  if (!updating_) throw Failure(VERLC_E_STATE, "no weight update is open");
  if (!commit) {
    weights_.drop_staged();
    updating_ = false;
    if (!weights_.present())
      throw Failure(VERLC_E_STATE, "the update was dropped, and there are no older weights to keep");
    return;
  }
  size_t count = 0;
  const std::vector<std::string> missing = weights_.not_staged(3, count);
  if (count > 0) {
    std::string names;
    for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
    throw Failure(VERLC_E_STATE,
                  fmt::format("{} weights were not sent: {}{}", count, names, count > 3 ? ", ..." : ""));
  }
  start_over();
  weights_.commit_staged();
  version_ = next_version_;
  updating_ = false;
}

std::string Engine::digest() const {
  if (!weights_.present()) throw Failure(VERLC_E_STATE, "there are no weights to digest");
  return weights_.digest();
}

void Engine::sleep(uint32_t parts) {
  constexpr uint32_t kParts = VERLC_PART_PARAM | VERLC_PART_KV;
  if (parts == 0 || (parts & ~kParts) != 0) throw Failure(VERLC_E_ARGUMENT, "sleep takes PARAM, KV or both");
  if (updating_) throw Failure(VERLC_E_STATE, "no sleep while a weight update is open");
  if ((asleep_ & parts) != 0) throw Failure(VERLC_E_STATE, "a part sleeps already");
  start_over();
  if ((parts & VERLC_PART_PARAM) != 0) weights_.drop();
  if ((parts & VERLC_PART_KV) != 0) cache_.drop();
  asleep_ |= parts;
}

void Engine::wake(uint32_t parts) {
  if (parts == 0) throw Failure(VERLC_E_ARGUMENT, "wake takes PARAM, KV or both");
  if ((asleep_ & parts) != parts) throw Failure(VERLC_E_STATE, "a part does not sleep");
  if (updating_ && (parts & VERLC_PART_PARAM) != 0) throw Failure(VERLC_E_STATE, "a weight update is open");
  if ((parts & VERLC_PART_KV) != 0) cache_.allocate();
  asleep_ &= ~parts;
}

std::vector<Engine::Usage> Engine::memory_usage() const {
  std::vector<Usage> result;
  for (size_t i = 0; i < kNumCategories; ++i) {
    const auto category = static_cast<Category>(i);
    if (memory_.peak(category) == 0) continue;
    const std::string name(category_name(category));
    result.push_back(
        {services_.host().memory_category(name.c_str()), memory_.now(category), memory_.peak(category)});
  }
  return result;
}

}  // namespace verlc::rollout
