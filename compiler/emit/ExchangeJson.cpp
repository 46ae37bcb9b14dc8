// Converts values to JSON with nlohmann's ordered type, which keeps field
// order.

#include "compiler/emit/ExchangeJson.h"

#include "compiler/recipe/Task.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace recipec::emit {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  bool isWhole = std::floor(value) == value && std::abs(value) < 0x1p53;
  return isWhole ? Json(int64_t(value)) : Json(value);
}

/// One overload for each kind of value.
struct Converter {
  const recipe::Recipe& recipe;

  Json operator()(const recipe::Value& value) const {
    return std::visit(*this, value.data);
  }
  Json operator()(recipe::None) const { return nullptr; }
  Json operator()(recipe::Auto) const { return nullptr; }
  Json operator()(bool value) const { return value; }
  Json operator()(int64_t value) const { return value; }
  Json operator()(double value) const { return value; }
  Json operator()(const std::string& value) const { return value; }
  Json operator()(const recipe::Quantity& value) const {
    return number(value.amount);
  }
  Json operator()(const recipe::DimValue& value) const {
    return recipe.model.dims[size_t(value.dim)].size;
  }
  Json operator()(const recipe::DimsMapping&) const { return nullptr; }
  Json operator()(const recipe::FunctionName& function) const {
    return function.name;
  }
  Json operator()(const recipe::List& list) const {
    Json array = Json::array();
    for (const recipe::Value& element : list)
      array.push_back((*this)(element));
    return array;
  }
  Json operator()(const recipe::Record& record) const {
    Json object = Json::object();
    for (const auto& [name, value] : record.fields)
      object[name] = (*this)(value);
    return object;
  }
};

std::string text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

/// `q_proj` of `model.layers.0.self_attn.q_proj.weight`.
std::string moduleName(const std::string& parameter) {
  size_t end = parameter.rfind('.');
  std::string path = parameter.substr(0, end);
  size_t dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(dot + 1);
}

} // namespace

std::string toJson(const recipe::Recipe& recipe, const recipe::Value& value) {
  return text(Converter{recipe}(value));
}

std::string adapterConfig(const ir::Module& program,
                          const recipe::Recipe& recipe) {
  if (recipe.at("adapter").isNone() || recipe::serves(recipe))
    return {};
  Json targets = Json::array();
  for (const ir::Param& param : program.params) {
    if (param.loraA == ir::ParamId::none)
      continue;
    Json module = moduleName(param.hfName);
    if (std::find(targets.begin(), targets.end(), module) == targets.end())
      targets.push_back(std::move(module));
  }
  const recipe::Value& weights = recipe.at("weights");
  Json config = {
      {"peft_type", "LORA"},
      {"task_type", "CAUSAL_LM"},
      {"base_model_name_or_path", Converter{recipe}(weights)},
      {"r", recipe.integer("adapter.rank")},
      {"lora_alpha", number(recipe.real("adapter.alpha"))},
      {"lora_dropout", recipe.real("adapter.dropout")},
      {"target_modules", std::move(targets)},
      {"bias", "none"},
      {"fan_in_fan_out", false},
      {"inference_mode", true},
  };
  return text(config);
}

} // namespace recipec::emit
