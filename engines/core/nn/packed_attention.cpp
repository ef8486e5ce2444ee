#include "core/nn/packed_attention.hpp"

namespace verlc {

Var PackedAttention::attend(Tape& tape, int64_t, const kernels::AttentionShape& shape, const Var& q,
                            const Var& k, const Var& v) {
  return tape.run(std::make_unique<ops::Attention>(shape, segments_), {q, k, v});
}

}  // namespace verlc
