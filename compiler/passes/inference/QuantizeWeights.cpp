// Quantizes weights of a Program that serves:
//
// 1. Find the readers of each parameter, over all functions.
// 2. Choose the matrices that only `linear` reads. The matrices that compute
//    logits and router scores are recognised by the readers of their results,
//    and others are excluded by the names of their modules.
// 3. Give a chosen matrix the type of the format. Add a parameter for its
//    scales, and in `int4_awq` one for the factors of its inputs. In int4 two
//    elements of the last dimension share a byte.
// 4. Turn the ops that read it into `quantized_linear`.

#include "compiler/passes/inference/QuantizeWeights.h"

#include "compiler/passes/ValueNames.h"
#include "runtime/ops/DenseOps.h"
#include "runtime/ops/OpKind.h"
#include "runtime/sizes/WeightScales.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

namespace sizes = reciperun::sizes;

using ir::OpKind;
using ir::ValueId;

/// A smaller matrix has too few bytes to matter.
constexpr int64_t leastElements = 1024;

/// What a value of `serve.weights` stands for: a format, and whether the inputs
/// of each matrix are multiplied by factors.
struct StoredForm {
  sizes::WeightFormat format;
  bool scalesInputs = false;
};

/// Nullopt for `"bf16"`, the compute type.
std::optional<StoredForm> storedForm(const std::string& name) {
  if (name == "bf16")
    return std::nullopt;
  if (name == "int4_awq")
    return StoredForm{sizes::WeightFormat::int4, true};
  const auto format = sizes::findWeightFormat(name);
  assert(format && "schema/serve.recipe lists the formats");
  return StoredForm{*format, false};
}

/// Whether a name matches a pattern, in which `*` stands for any characters.
bool matches(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos)
    return pattern == name;
  if (!name.starts_with(pattern.substr(0, star)))
    return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (size_t at = star; at <= name.size(); ++at)
    if (matches(rest, name.substr(at)))
      return true;
  return false;
}

/// The Hugging Face name of a matrix without `.weight`.
std::string_view moduleOf(const ir::Param& param) {
  constexpr std::string_view suffix = ".weight";
  std::string_view name = param.hfName;
  if (name.ends_with(suffix))
    name.remove_suffix(suffix.size());
  return name;
}

class WeightQuantizer {
public:
  WeightQuantizer(ir::Module& program, const recipe::Recipe& recipe,
                  StoredForm form, diag::Engine& engine)
      : program(program), recipe(recipe), engine(engine), names(program),
        format(form.format), scalesInputs(form.scalesInputs),
        hasBlocks(recipe.string("serve.fp8_scales") == "block"),
        canQuantize(program.values.size(), true),
        rowDims(program.values.size(), -1) {
    std::map<ValueId, ValueId> gathered; // by the result of an all-gather
    for (const ir::Function& function : program.functions)
      for (const ir::Op& op : function.ops)
        if (op.kind == OpKind::AllGather)
          gathered.emplace(op.results[0], op.operands[0]);
    const auto keepExact = [&](ValueId result) {
      exactResults.push_back(result);
      if (auto shard = gathered.find(result); shard != gathered.end())
        exactResults.push_back(shard->second);
    };
    for (const ir::Function& function : program.functions)
      for (const ir::Op& op : function.ops)
        if (op.kind == OpKind::Route)
          keepExact(op.operands[0]);
    if (!recipe.boolean("serve.quantize_logits"))
      for (const auto& [role, value] : program.bindings)
        keepExact(value);
  }

  void run() {
    for (const ir::Function& function : program.functions)
      for (const ir::Op& op : function.ops)
        findReaders(op);
    exclude();
    for (ir::Param& param : program.params)
      if (isChosen(param))
        quantize(param);
    for (ir::Function& function : program.functions)
      for (ir::Op& op : function.ops)
        rewrite(op);
  }

private:
  void findReaders(const ir::Op& op) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const ValueId operand = op.operands[i];
      if (operand == ValueId::none)
        continue;
      if (!isMatmulWith(op, i))
        canQuantize[size_t(operand)] = false;
      else
        rowDims[size_t(operand)] = rowsOf(op);
    }
  }

  /// Keeps the modules of `serve.exclude_modules` in the compute type. A
  /// pattern that names no module of the model is an error.
  void exclude() {
    const recipe::Value& patterns = recipe.at("serve.exclude_modules");
    for (const recipe::Value& each : std::get<recipe::List>(patterns.data)) {
      const auto& pattern = std::get<std::string>(each.data);
      bool isUsed = false;
      for (const ir::Param& param : program.params)
        if (matches(pattern, moduleOf(param))) {
          canQuantize[size_t(param.value)] = false;
          isUsed = true;
        }
      if (!isUsed)
        reportUnused(each, pattern);
    }
  }

  void reportUnused(const recipe::Value& value, const std::string& pattern) {
    auto builder =
        engine.report(diag::Kind::InvalidValue, value.origin.range,
                      "`exclude_modules` names \"" + pattern +
                          "\", and no module of the "
                          "model has this name in its Hugging Face directory");
    const auto matrix =
        std::ranges::find_if(program.params, [&](const ir::Param& param) {
          return rowDims[size_t(param.value)] > 0;
        });
    if (matrix != program.params.end())
      builder.help("write names as \"" + std::string(moduleOf(*matrix)) +
                   "\", where `*` stands for any characters");
  }

  bool isMatmulWith(const ir::Op& op, size_t operand) const {
    return op.kind == OpKind::Linear && operand == 1 &&
           !ops::LinearAttributes(op.attributes).accumulate &&
           std::find(exactResults.begin(), exactResults.end(), op.results[0]) ==
               exactResults.end();
  }

  /// The number of the weight's dimensions that are outputs.
  int rowsOf(const ir::Op& linear) const {
    const size_t x = program[linear.operands[0]].dims.size(),
                 w = program[linear.operands[1]].dims.size(),
                 y = program[linear.results[0]].dims.size();
    return int(y + w - x) / 2;
  }

  bool isChosen(const ir::Param& param) const {
    const ir::Value& value = program[param.value];
    if (!canQuantize[size_t(param.value)] || rowDims[size_t(param.value)] < 1 ||
        param.adapter || param.gradient != ValueId::none ||
        value.type != program.compute || value.type == ir::DType::f64)
      return false;
    const bool hasPairs = ir::localShape(program, param.value).back() % 2 == 0;
    return ir::localElements(program, param.value) >= leastElements &&
           (format != sizes::WeightFormat::int4 || hasPairs);
  }

  void quantize(ir::Param& param) {
    const int rows = rowDims[size_t(param.value)];
    const auto [n, k] = sizesOf(param.value, rows);
    const sizes::WeightScales scales = scalesOf(n, k);
    param.quantization = ir::WeightQuantization{
        sizes::weightFormatName(format), sizes::weightScalesName(scales),
        addFactors(param, ".scale", sizes::scaleShape(scales, n, k)),
        scalesInputs ? addFactors(param, ".in_scale", {k}) : ValueId::none};
    if (format == sizes::WeightFormat::int4) {
      const ir::Dim& last = program[program[param.value].dims.back()];
      const ir::DimId half =
          ir::addDim(program, last.name + "_pairs", last.size / 2, last.range);
      program[param.value].dims.back() = half;
    }
    program[param.value].type = sizes::storedType(format);
    quantizations.emplace(param.value, *param.quantization);
  }

  /// Adds a parameter of factors or scales for the rank's shard of a matrix.
  ValueId addFactors(const ir::Param& param, const char* suffix,
                     const std::vector<int64_t>& shape) {
    ir::Value factors;
    factors.name = names.make(program[param.value].name + suffix);
    factors.kind = ir::ValueKind::parameter;
    factors.type = ir::DType::f32;
    for (int64_t size : shape)
      factors.dims.push_back(ir::addDim(program, "scales", size));
    factors.sharding.dims.resize(factors.dims.size());
    factors.range = program[param.value].range;
    return ir::addValue(program, std::move(factors));
  }

  sizes::WeightScales scalesOf(int64_t n, int64_t k) const {
    if (format == sizes::WeightFormat::int4)
      return sizes::WeightScales::groups;
    return format == sizes::WeightFormat::fp8 && hasBlocks &&
                   sizes::fitsSquares(n, k)
               ? sizes::WeightScales::squares
               : sizes::WeightScales::rows;
  }

  std::pair<int64_t, int64_t> sizesOf(ValueId weight, int rows) const {
    const std::vector<int64_t> shape = ir::localShape(program, weight);
    const auto middle = shape.begin() + rows;
    return {
        std::accumulate(shape.begin(), middle, int64_t(1), std::multiplies<>()),
        std::accumulate(middle, shape.end(), int64_t(1), std::multiplies<>())};
  }

  void rewrite(ir::Op& op) const {
    if (op.kind != OpKind::Linear)
      return;
    const auto found = quantizations.find(op.operands[1]);
    if (found == quantizations.end())
      return;
    op.kind = OpKind::QuantizedLinear;
    op.operands = {op.operands[0], op.operands[1], found->second.scale,
                   found->second.inScale};
    op.attributes.erase("accumulate");
    op.attributes["scales"] = found->second.scales;
  }

  ir::Module& program;
  const recipe::Recipe& recipe;
  diag::Engine& engine;
  ValueNames names;
  sizes::WeightFormat format;
  bool scalesInputs;                 // the inputs of each matrix have factors
  bool hasBlocks;                    // fp8 with one scale per square
  std::vector<ValueId> exactResults; // results of linears to leave alone
  std::vector<bool> canQuantize;     // by value
  std::vector<int> rowDims;          // by value; -1: no linear reads it
  std::map<ValueId, ir::WeightQuantization> quantizations; // by weight
};

} // namespace

void quantizeWeights(ir::Module& program, const recipe::Recipe& recipe,
                     diag::Engine& engine) {
  if (const auto form = storedForm(recipe.string("serve.weights")))
    WeightQuantizer(program, recipe, *form, engine).run();
}

} // namespace recipec::passes
