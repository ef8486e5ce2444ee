#include "commands/support/known_names.hpp"

#include "core/models/model_config.hpp"
#include "rewards/scorer.hpp"

namespace verlc {

KnownNames known_names() {
  KnownNames names;
  names.architectures = supported_architectures();
  names.scorers = make_scorer_registry().names();
  return names;
}

}  // namespace verlc
