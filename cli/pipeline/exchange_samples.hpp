// Samples change ranks: tokens, log-probs and scores, a few bytes a token.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/comm/process_group.hpp"
#include "pipeline/sample.hpp"

namespace verlc::pipeline {

/// Sends samples[i] to rank destinations[i] and gives those that are then here, by place and number. Samples
/// of a prompt that travel together share one Prompt afterwards, as before. The decoded text stays behind: it
/// is empty in what came from elsewhere. Collective; destinations: [samples], in [0, group.size()).
std::vector<Sample> exchange_samples(std::vector<Sample> samples, std::span<const size_t> destinations,
                                     ProcessGroup& group);

/// The bytes in which samples travel; samples of one prompt stand side by side.
std::string write_samples(std::span<const Sample* const> samples);
std::vector<Sample> read_samples(std::string_view bytes);

}  // namespace verlc::pipeline
