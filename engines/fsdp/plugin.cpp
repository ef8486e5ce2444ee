// fsdp.so: the training engine behind the plugin ABI.
#include "verlc/plugin.hpp"

#include "core/base/engine_guard.hpp"
#include "fsdp/engine.hpp"
#include "fsdp/estimate.hpp"

struct verlc_train {
  verlc::fsdp::Engine engine;
};

namespace verlc::fsdp {
namespace {

plugin::PluginTable& table();

verlc_status create(void*, verlc_string config, const verlc_topology* topology, verlc_train** out,
                    verlc_error* error) noexcept {
  return engine_guard(error, [&] {
    *out = new verlc_train{Engine(parse_config(plugin::to_view(config)), table().host(), *topology)};
    return VERLC_OK;
  });
}

void destroy(verlc_train* train) noexcept {
  delete train;
}

verlc_status estimate_bytes(void*, verlc_string config, verlc_string workload, verlc_sink sink, void* context,
                            verlc_error* error) noexcept {
  return engine_guard(error, [&] {
    plugin::send_to_sink(sink, context, 0,
                         estimate(parse_config(plugin::to_view(config)), plugin::to_view(workload)));
    return VERLC_OK;
  });
}

verlc_status forward_logp(verlc_train* train, const verlc_batch* batch, float* logp, float* entropy,
                          float* value, verlc_error* error) noexcept {
  return engine_guard(error, [&] {
    if (value != nullptr) throw plugin::Failure(VERLC_E_UNSUPPORTED, "a language model has no values");
    train->engine.forward_logp(read_batch(*batch, train->engine.model().config().vocab), logp, entropy);
    return VERLC_OK;
  });
}

verlc_status forward_backward(verlc_train* train, const verlc_batch* batch, int32_t need_entropy,
                              verlc_loss_callback loss, void* context, double* loss_sum,
                              verlc_error* error) noexcept {
  return engine_guard(
      error,
      [&] {
        const Batch checked = read_batch(*batch, train->engine.model().config().vocab);
        const double sum = train->engine.forward_backward(checked, need_entropy != 0, loss, context);
        if (loss_sum != nullptr) *loss_sum = sum;
        return VERLC_OK;
      },
      VERLC_ERROR_DEAD);
}

verlc_status optimizer_step(verlc_train* train, verlc_optimizer_step* step, verlc_error* error) noexcept {
  return engine_guard(
      error,
      [&] {
        train->engine.optimizer_step(*step);
        return VERLC_OK;
      },
      VERLC_ERROR_DEAD);
}

verlc_status zero_grad(verlc_train* train, verlc_error* error) noexcept {
  return engine_guard(error, [&] {
    train->engine.zero_grad();
    return VERLC_OK;
  });
}

// Device and host memory are one on the CPU: there is nowhere to move to.
verlc_status move_parts(verlc_train*, uint32_t, verlc_error*) noexcept {
  return VERLC_OK;
}

verlc_status export_begin(verlc_train* train, uint64_t bucket_bytes, verlc_error* error) noexcept {
  return engine_guard(error, [&] {
    train->engine.export_begin(bucket_bytes);
    return VERLC_OK;
  });
}

verlc_status export_next(verlc_train* train, const verlc_named_tensor** out, uint32_t capacity,
                         uint32_t* count, verlc_error* error) noexcept {
  return engine_guard(error, [&]() -> verlc_status {
    *count = 0;
    if (capacity == 0) throw plugin::Failure(VERLC_E_ARGUMENT, "capacity must be positive");
    const std::vector<const verlc_named_tensor*> bucket = train->engine.export_next(capacity);
    if (bucket.empty()) return VERLC_END;
    for (const verlc_named_tensor* named : bucket) out[(*count)++] = named;
    return VERLC_OK;
  });
}

verlc_status save(verlc_train* train, verlc_string dir, uint32_t parts, verlc_error* error) noexcept {
  return engine_guard(error, [&] {
    train->engine.save(std::string(plugin::to_view(dir)), parts);
    return VERLC_OK;
  });
}

verlc_status load(verlc_train* train, verlc_string dir, uint32_t parts, verlc_error* error) noexcept {
  return engine_guard(
      error,
      [&] {
        train->engine.load(std::string(plugin::to_view(dir)), parts);
        return VERLC_OK;
      },
      VERLC_ERROR_DEAD);
}

std::string describe() {
  return hf::Json{{"config", config_schema()},
                  {"devices", {"cpu"}},
                  {"dtypes", kernels::kPrecisionNames},
                  {"architectures", supported_architectures()},
                  {"deterministic", true},
                  {"concurrent", false},
                  {"extra", {kSharedPrefix}}}
      .dump();
}

const verlc_train_api kApi = {VERLC_HEAD(verlc_train_api),
                              nullptr,
                              create,
                              destroy,
                              estimate_bytes,
                              forward_logp,
                              forward_backward,
                              optimizer_step,
                              zero_grad,
                              move_parts,
                              move_parts,
                              export_begin,
                              export_next,
                              save,
                              load,
                              nullptr};

plugin::PluginTable& table() {
  static plugin::PluginTable instance("fsdp", "0.1.0", {{VERLC_CAPABILITY_TRAIN, &kApi, describe}});
  return instance;
}

}  // namespace

verlc_status open_fsdp(const verlc_host* host, const verlc_plugin** out, verlc_error* error) noexcept {
  return table().open(host, out, error);
}

}  // namespace verlc::fsdp

VERLC_PLUGIN("fsdp", "0.1.0", VERLC_CAPABILITY_TRAIN, 0, verlc::fsdp::open_fsdp)
