// One rank's whole run of a recipe.
#pragma once

#include "pipeline/session.hpp"
#include "recipe/recipe.hpp"

namespace verlc::pipeline {

/// Chooses the trainer by algorithm.name, prints the preflight line, runs. Returns the exit code: 0, or 130
/// after an orderly stop. Errors are thrown.
int train(const Recipe& recipe, Session& session);

}  // namespace verlc::pipeline
