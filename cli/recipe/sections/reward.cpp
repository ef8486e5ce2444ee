#include "recipe/sections/reward.hpp"

namespace verlc {

void RewardSection::fields(FieldVisitor& v) {
  v.field(&name, {.key = "name", .help = "scorer, or auto: chosen by each row's data_source"});
  v.field(&plugin, {.key = "plugin",
                    .path = PathKind::plugin,
                    .unset = "built-in scorers",
                    .help = "file or id of a reward plugin that scores instead"});
  v.field(&config,
          {.key = "config", .help = "options of the scorers, or the table handed to the plugin as JSON"});
  v.field(&error_policy, {.key = "error_policy",
                          .choices = {"abort", "drop_sample", "drop_group"},
                          .help = "when a scorer fails: end the run, or leave out the sample or its group"});
  v.field(&max_error_rate, {.key = "max_error_rate",
                            .min = 0,
                            .max = 1,
                            .help = "share of failed samples in a step that ends the run"});
}

}  // namespace verlc
