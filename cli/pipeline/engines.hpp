// Engines of a recipe: their JSON configurations, and their creation.
#pragma once

#include <memory>
#include <string>

#include "host/rollout_engine.hpp"
#include "host/train_engine.hpp"
#include "pipeline/session.hpp"
#include "recipe/recipe.hpp"

namespace verlc::pipeline {

/// The actor: trained.
std::string actor_config(const Recipe& recipe);
/// The reference policy: the starting weights, never trained.
std::string reference_config(const Recipe& recipe);
/// The generator; its weights come by updates, so it reads none.
std::string rollout_config(const Recipe& recipe);
/// A model folder for reading weights alone (export, score): "checkpoint" or "random" start.
std::string frozen_config(const std::string& model, const std::string& init);

std::unique_ptr<TrainEngine> make_train_engine(Session& session, const std::string& name,
                                               const std::string& config);
std::unique_ptr<RolloutEngine> make_rollout_engine(Session& session, const std::string& name,
                                                   const std::string& config);

}  // namespace verlc::pipeline
