// toml++ as this project uses it: without exceptions, so that every syntax fault is a value.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
