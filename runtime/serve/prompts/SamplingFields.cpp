// A table of names with the function that stores the value of each.

#include "runtime/serve/prompts/SamplingFields.h"

#include "runtime/cli/Options.h"

#include <nlohmann/json.hpp>

#include <limits>

namespace reciperun::serve {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Stores a value; false when it has another type.
using StoreField = bool (*)(const OrderedJson& value, SamplingArguments&);

constexpr int64_t mostAnswers = 1024; // to a prompt

/// Whether the value is an integer from 0 to the largest token id or number of
/// tokens.
bool isCount(const OrderedJson& value, uint64_t most) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= most;
}

template <std::optional<double> SamplingArguments::*Member>
bool storeNumber(const OrderedJson& value, SamplingArguments& arguments) {
  if (!value.is_number())
    return false;
  arguments.*Member = value.get<double>();
  return true;
}

template <std::optional<int64_t> SamplingArguments::*Member>
bool storeCount(const OrderedJson& value, SamplingArguments& arguments) {
  if (!isCount(value, uint64_t(std::numeric_limits<int64_t>::max())))
    return false;
  arguments.*Member = value.get<int64_t>();
  return true;
}

bool storeSeed(const OrderedJson& value, SamplingArguments& arguments) {
  if (!value.is_number_unsigned())
    return false;
  arguments.seed = value.get<uint64_t>();
  return true;
}

bool storeAnswers(const OrderedJson& value, SamplingArguments& arguments) {
  if (!isCount(value, uint64_t(mostAnswers)) || value.get<int64_t>() == 0)
    return false;
  arguments.n = value.get<int64_t>();
  return true;
}

template <auto member>
bool storeLogprobs(const OrderedJson& value, SamplingArguments& arguments) {
  if (!isCount(value, uint64_t(std::numeric_limits<int>::max())))
    return false;
  arguments.*member = value.get<int>();
  return true;
}

bool storeIgnored(const OrderedJson& value, SamplingArguments& arguments) {
  if (!value.is_boolean())
    return false;
  arguments.ignoreEndTokens = value.get<bool>();
  return true;
}

/// A text, or a list of texts.
template <std::vector<std::string> SamplingArguments::*Member>
bool storeTexts(const OrderedJson& value, SamplingArguments& arguments) {
  std::vector<std::string> texts;
  for (const OrderedJson& each :
       value.is_array() ? value : OrderedJson::array({value})) {
    if (!each.is_string())
      return false;
    texts.push_back(each.get<std::string>());
  }
  arguments.*Member = std::move(texts);
  return true;
}

bool storeStopTokens(const OrderedJson& value, SamplingArguments& arguments) {
  if (!value.is_array())
    return false;
  std::vector<int32_t> ids;
  for (const OrderedJson& each : value) {
    if (!isCount(each, uint64_t(std::numeric_limits<int32_t>::max())))
      return false;
    ids.push_back(each.get<int32_t>());
  }
  arguments.stopTokens = std::move(ids);
  return true;
}

/// An object of token ids, which are texts in JSON, and numbers.
bool storeBias(const OrderedJson& value, SamplingArguments& arguments) {
  if (!value.is_object())
    return false;
  std::vector<std::pair<int32_t, float>> bias;
  for (const auto& [name, number] : value.items()) {
    const auto id = cli::parseNumber<int32_t>(name);
    if (!id || *id < 0 || !number.is_number())
      return false;
    bias.emplace_back(*id, number.get<float>());
  }
  arguments.logitBias = std::move(bias);
  return true;
}

struct SamplingField {
  const char* name;
  const char* due; // what the value has to be
  StoreField store;
};

using Arguments = SamplingArguments;
constexpr SamplingField fields[] = {
    {"temperature", "a number", storeNumber<&Arguments::temperature>},
    {"top_k", "a whole number from 0", storeCount<&Arguments::topK>},
    {"top_p", "a number", storeNumber<&Arguments::topP>},
    {"min_p", "a number", storeNumber<&Arguments::minP>},
    {"repetition_penalty", "a number",
     storeNumber<&Arguments::repetitionPenalty>},
    {"presence_penalty", "a number", storeNumber<&Arguments::presencePenalty>},
    {"frequency_penalty", "a number",
     storeNumber<&Arguments::frequencyPenalty>},
    {"logit_bias", "an object of token ids and numbers", storeBias},
    {"bad_words", "a text or a list of texts",
     storeTexts<&Arguments::badWords>},
    {"seed", "a whole number from 0", storeSeed},
    {"max_tokens", "a whole number from 1", storeCount<&Arguments::maxTokens>},
    {"min_tokens", "a whole number from 0", storeCount<&Arguments::minTokens>},
    {"stop_token_ids", "a list of token ids", storeStopTokens},
    {"stop", "a text or a list of texts", storeTexts<&Arguments::stopStrings>},
    {"timeout", "a number of seconds", storeNumber<&Arguments::timeout>},
    {"ignore_eos", "`true` or `false`", storeIgnored},
    {"logprobs", "a whole number from 0", storeLogprobs<&Arguments::logprobs>},
    {"prompt_logprobs", "a whole number from 0",
     storeLogprobs<&Arguments::promptLogprobs>},
    {"n", "a whole number from 1 to 1024", storeAnswers},
};

} // namespace

std::vector<std::string> samplingFieldNames() {
  std::vector<std::string> names;
  for (const SamplingField& field : fields)
    names.push_back(field.name);
  return names;
}

Status readSamplingFields(const OrderedJson& object,
                          SamplingArguments& arguments) {
  for (const SamplingField& field : fields) {
    const auto found = object.find(field.name);
    if (found == object.end() || found->is_null())
      continue;
    if (!field.store(*found, arguments)) {
      constexpr size_t longest = 40; // bytes of a shown value
      const std::string shown = found->dump();
      return Status::error("the field `" + std::string(field.name) + "` is " +
                           (shown.size() <= longest
                                ? "`" + shown + "`"
                                : std::string(found->type_name())) +
                           " where " + field.due + " is due");
    }
    arguments.fieldsOfLine.push_back(field.name);
  }
  return {};
}

} // namespace reciperun::serve
