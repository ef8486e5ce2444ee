#include "algorithms/policy_loss.hpp"

namespace verlc {

void register_policy_loss_all(PolicyLossRegistry& registry);

PolicyLossRegistry make_policy_loss_registry() {
  PolicyLossRegistry registry("policy loss");
  register_policy_loss_all(registry);
  return registry;
}

}  // namespace verlc
