/* A reward plugin in plain C. It gives
 *   1 when the response ends with the reference answer (trailing spaces, newlines and one full stop aside), plus
 *   length_weight * (1 - |bytes of the response - target_length| / target_length), not below 0.
 * Configuration, a JSON object of numbers: {"target_length": 64, "length_weight": 0}. Unknown keys are refused.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verlc/plugin.h"

struct verlc_reward {
  double target_length;
  double length_weight;
};

/* ---- Configuration ------------------------------------------------------------------------------------------ */

static const char *skip_space(const char *at) {
  while (isspace((unsigned char)*at)) ++at;
  return at;
}

static verlc_status bad_config(verlc_error *error, const char *what, const char *value) {
  char message[256];
  snprintf(message, sizeof message, "%s (value: %.64s); fix: {\"target_length\": 64, \"length_weight\": 0}", what, value);
  return verlc_fail(error, VERLC_E_CONFIG, message);
}

static verlc_status set_key(verlc_reward *reward, const char *key, double value, verlc_error *error) {
  if (strcmp(key, "target_length") == 0) {
    if (!(value >= 1 && value <= 1e9)) return bad_config(error, "target_length must be between 1 and 1e9", key);
    reward->target_length = value;
    return VERLC_OK;
  }
  if (strcmp(key, "length_weight") == 0) {
    if (!(value >= 0 && value <= 1e6)) return bad_config(error, "length_weight must be between 0 and 1e6", key);
    reward->length_weight = value;
    return VERLC_OK;
  }
  return bad_config(error, "unknown key", key);
}

/* Reads an object of numbers; `text` ends with NUL. */
static verlc_status read_config(verlc_reward *reward, const char *text, verlc_error *error) {
  const char *at = skip_space(text);
  if (*at++ != '{') return bad_config(error, "the configuration is not a JSON object", text);
  at = skip_space(at);
  while (*at != '}') {
    char key[32] = "";
    char *end = NULL;
    size_t length = 0;
    double value;
    verlc_status status;
    if (*at++ != '"') return bad_config(error, "a key in double quotes is missing", at - 1);
    while (at[length] != '"' && at[length] != 0) ++length;
    if (at[length] == 0 || length >= sizeof key) return bad_config(error, "a key is too long or not closed", at);
    memcpy(key, at, length);
    at = skip_space(at + length + 1);
    if (*at++ != ':') return bad_config(error, "a colon is missing after the key", key);
    at = skip_space(at);
    value = strtod(at, &end);
    if (end == at) return bad_config(error, "the value is not a number", key);
    status = set_key(reward, key, value, error);
    if (status != VERLC_OK) return status;
    at = skip_space(end);
    if (*at == ',') {
      at = skip_space(at + 1);
      if (*at == '}') return bad_config(error, "a key is missing after the comma", text);
    } else if (*at != '}') {
      return bad_config(error, "a comma or the end of the object is missing", at);
    }
  }
  return *skip_space(at + 1) == 0 ? VERLC_OK : bad_config(error, "there is text after the object", at + 1);
}

/* ---- Capability ------------------------------------------------------------------------------------------------ */

static verlc_status reward_create(void *self, verlc_string config, verlc_reward **out, verlc_error *error) {
  verlc_reward *reward = malloc(sizeof *reward);
  char *text = malloc(config.size + 1);
  verlc_status status = VERLC_OK;
  (void)self;
  if (reward == NULL || text == NULL) {
    free(reward);
    free(text);
    return verlc_fail(error, VERLC_E_MEMORY_HOST, "out of memory");
  }
  if (config.size > 0) memcpy(text, config.data, config.size);
  text[config.size] = 0;
  reward->target_length = 64;
  reward->length_weight = 0;
  if (config.size > 0) status = read_config(reward, text, error);
  free(text);
  if (status != VERLC_OK) {
    free(reward);
    return status;
  }
  *out = reward;
  return VERLC_OK;
}

static void reward_destroy(verlc_reward *reward) { free(reward); }

/* Without surrounding spaces; `quotes`: also without one pair of double quotes, since the reference is JSON. */
static verlc_string trimmed(verlc_string text, int quotes) {
  while (text.size > 0 && isspace((unsigned char)text.data[0])) {
    ++text.data;
    --text.size;
  }
  while (text.size > 0 && isspace((unsigned char)text.data[text.size - 1])) --text.size;
  if (quotes && text.size >= 2 && text.data[0] == '"' && text.data[text.size - 1] == '"') {
    ++text.data;
    text.size -= 2;
  }
  return text;
}

/* 1 when the response ends with the answer as a word of its own: "42" does not end with the answer "2". */
static int ends_with(verlc_string response, verlc_string answer) {
  response = trimmed(response, 0);
  if (response.size > 0 && response.data[response.size - 1] == '.') --response.size;
  if (answer.size == 0 || response.size < answer.size) return 0;
  if (memcmp(response.data + response.size - answer.size, answer.data, answer.size) != 0) return 0;
  if (response.size > answer.size) {
    const unsigned char before = (unsigned char)response.data[response.size - answer.size - 1];
    if (isalnum(before) || before == '-' || before == '.') return 0;
  }
  return 1;
}

static double closeness(double length, double target) {
  const double distance = length > target ? length - target : target - length;
  return distance >= target ? 0 : 1 - distance / target;
}

static verlc_status reward_score(verlc_reward *reward, const verlc_sample *const *samples, uint32_t count,
                                 verlc_score *const *scores, uint64_t cancel_scope, verlc_error *error) {
  uint32_t i;
  (void)cancel_scope;
  (void)error;
  for (i = 0; i < count; ++i) {
    const verlc_sample *sample = samples[i];
    verlc_score *score = scores[i];
    const verlc_string answer = trimmed(sample->reference, 1);
    score->ok = answer.size > 0;
    score->reward = 0;
    score->message[0] = 0;
    if (!score->ok) {
      snprintf(score->message, sizeof score->message, "the reference answer is empty");
      continue;
    }
    score->reward = ends_with(sample->response, answer) +
                    reward->length_weight * closeness((double)sample->response.size, reward->target_length);
  }
  return VERLC_OK;
}

static const verlc_reward_api kReward = {VERLC_HEAD(verlc_reward_api), NULL, reward_create, reward_destroy,
                                         reward_score};

/* ---- The plugin's table ------------------------------------------------------------------------------------------ */

static const void *find_capability(void *self, const char *id) {
  (void)self;
  return id != NULL && strcmp(id, VERLC_CAPABILITY_REWARD) == 0 ? &kReward : NULL;
}

static verlc_status describe(void *self, const char *capability_id, verlc_sink sink, void *context,
                             verlc_error *error) {
  static const char kText[] =
      "{\"config\": {\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
      "\"target_length\": {\"type\": \"number\", \"minimum\": 1, \"default\": 64},"
      "\"length_weight\": {\"type\": \"number\", \"minimum\": 0, \"default\": 0}}},"
      " \"devices\": [\"cpu\"], \"dtypes\": [], \"deterministic\": true, \"concurrent\": false}";
  const verlc_string text = {kText, sizeof kText - 1};
  if (find_capability(self, capability_id) == NULL)
    return verlc_fail(error, VERLC_E_UNSUPPORTED, "this plugin offers verlc.reward/1 only");
  return sink(context, 0, text);
}

static verlc_status shutdown_plugin(void *self, verlc_error *error) {
  (void)self;
  (void)error;
  return VERLC_OK;
}

static const verlc_plugin kPlugin = {
    VERLC_HEAD(verlc_plugin), VERLC_ABI_MAJOR,  VERLC_ABI_MINOR, 0, 0,        {"reward-length", 13},
    {"1.0", 3},               {"plain C", 7},   NULL,            find_capability, describe, shutdown_plugin};

static verlc_status open_plugin(const verlc_host *host, const verlc_plugin **out, verlc_error *error) {
  (void)host;
  (void)error;
  *out = &kPlugin;
  return VERLC_OK;
}

VERLC_PLUGIN("reward-length", "1.0", VERLC_CAPABILITY_REWARD, 0, open_plugin)
