// fp8 matmuls.
//
// 1. Choose the linears: those of layers, except routers, adapters and linears
//    that are too small to benefit. Their three matmuls are y = x w^T, dx = dy
//    w and dw = dy^T x. The hardware only multiplies rows by rows, so the
//    second needs w transposed, and the third both operands.
// 2. Walk through `forward` and `backward` and record which of the two layouts
//    of each operand are read. An operand that is written again counts as
//    another operand.
// 3. Walk through them again. Before the first matmul that reads an operand,
//    quantize it to all its layouts at once. The matmul becomes an fp8 matmul.
//    Values of `forward` that `backward` reads are saved in fp8.
// 4. Turn saved values that `backward` no longer reads into temporaries.
//
// When `tp` splits a matrix, each rank's shard has its own scale, so that ranks
// do not wait for each other's amax. Sharded weights are quantized again in
// each function, from the gathered values, unless they are gathered in fp8
// (GatherInFp8.h). All other weights are quantized once a step: see
// keepQuantizedWeights, which runs when the placement of parameters is known.

#include "compiler/passes/precision/Quantize.h"

#include "compiler/passes/SavedValues.h"
#include "compiler/passes/ValueNames.h"
#include "compiler/passes/build/ExpertRouting.h"
#include "runtime/ops/OpKind.h"
#include "runtime/sizes/ScaleBlocks.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

namespace sizes = reciperun::sizes;

using ir::Op;
using ir::OpKind;
using ir::ValueId;
using ir::ValueKind;

/// A linear with fewer inputs or outputs is not quantized.
constexpr int64_t leastWidth = 16;
/// Sizes must be multiples of this when a matrix has one scale.
constexpr int64_t tensorwiseMultiple = 16;
/// The length of the amax history from which `delayed` scaling determines a
/// scale.
constexpr int64_t amaxHistoryLength = 16;

/// A scaling recipe: which blocks of a matrix have a scale of their own.
struct Scaling {
  std::string_view name; // of `precision.fp8`
  // The attribute `blocks` of weights and of other operands. When empty, the
  // matrix has one scale, which both layouts share.
  std::string_view ofWeights, ofRows;
  bool isOfPast; // uses amax histories, but not for weights
  // What each size of a matmul must be a multiple of: `ofWhole` for inputs and
  // outputs that no axis splits. A shorter last block is then the same on every
  // rank as on one.
  int64_t multiple, ofWhole;
};
constexpr Scaling scalings[] = {
    {"tensorwise", "", "", false, tensorwiseMultiple, tensorwiseMultiple},
    {"delayed", "", "", true, tensorwiseMultiple, tensorwiseMultiple},
    {"blockwise", "squares", "rows", false, sizes::scaleBlockWidth,
     tensorwiseMultiple},
    {"mxfp8", "mx", "mx", false, sizes::mxBlockWidth, sizes::mxBlockWidth},
};

const Scaling& scalingOf(const recipe::Recipe& recipe) {
  const Scaling* found =
      std::ranges::find(scalings, recipe.string("precision.fp8"),
                        [](const Scaling& each) { return each.name; });
  assert(found != std::end(scalings) && "schema/precision.recipe lists them");
  return *found;
}

/// The recipe's settings for fp8 matmuls.
struct Scheme : Scaling {
  explicit Scheme(const recipe::Recipe& recipe)
      : Scaling(scalingOf(recipe)),
        gradients(recipe.string("precision.fp8_grads") == "e5m2"
                      ? ir::DType::f8e5m2
                      : ir::DType::f8e4m3),
        hasWholeWeights(recipe.string("parallel.shard") != "parameters") {}

  ir::DType gradients;
  bool hasWholeWeights; // each rank keeps the full weights

  bool hasBlocks() const { return !ofRows.empty(); }
};

/// An operand of a matmul before quantization.
struct Operand {
  ValueId value = ValueId::none;
  bool isTurned = false; // read transposed
  size_t lead = 0;       // number of the value's dimensions that are rows
  ir::DType type = ir::DType::f8e4m3;
  bool isWeight = false;
};

struct Matmul {
  Operand a, b;
};

/// An operand at a point in time: its value, the number of writes to it so far,
/// and the current function if it is a weight that each function quantizes
/// again.
struct Source {
  ValueId value = ValueId::none;
  int writes = 0;
  int function = 0;
  auto operator<=>(const Source&) const = default;
};

/// The layouts of an operand that matmuls read, and their values once made.
struct Layouts {
  bool isPlain = false, isTurned = false;
  ValueId q = ValueId::none, scale = ValueId::none;
  ValueId qt = ValueId::none, qtScale = ValueId::none;
  int function = -1; // the function that makes them; -1: none yet
};

class Quantization {
public:
  Quantization(ir::Module& program, const recipe::Recipe& recipe,
               diag::Engine& engine)
      : program(program), recipe(recipe), engine(engine), scheme(recipe),
        names(program) {
    for (const ir::Param& param : program.params)
      if (!param.adapter)
        weights.insert(param.value);
  }

  void run() {
    for (const Op& op : ir::findFunction(program, "forward")->ops)
      if (isChosen(op) && !checkSizes(op))
        return;
    if (chosen.empty())
      return;
    walk([&](Op& op, const Matmul& product) {
      for (const Operand& operand : {product.a, product.b}) {
        Layouts& layouts = layoutsOf[sourceOf(operand)];
        (operand.isTurned ? layouts.isTurned : layouts.isPlain) = true;
      }
      out.push_back(op);
    });
    walk([&](Op& op, const Matmul& product) { rewrite(op, product); });
    dropUnreadSaved(program);
  }

private:
  // ---- the linears

  bool isChosen(const Op& op) {
    if (op.kind != OpKind::Linear || op.layer < 0 ||
        !weights.contains(op.operands[1]))
      return false;
    const std::vector<ir::DimId>& dims = program[op.results[0]].dims;
    bool isRouter = program[dims.back()].name.starts_with(scoresDim);
    const Sizes sizes = sizesOf(op, wholeShape);
    if (isRouter || sizes.in < leastWidth || sizes.out < leastWidth)
      return false;
    chosen.insert(op.operands[1]);
    return true;
  }

  /// Numbers of dimensions in a matmul of x and w to y: `lead` are the leading
  /// ones that x and y share, and `to` those of w that y has.
  struct Ranks {
    size_t lead, to;
  };
  Ranks ranksOf(ValueId x, ValueId w, ValueId y) const {
    size_t xs = program[x].dims.size(), ws = program[w].dims.size(),
           ys = program[y].dims.size();
    return {(xs + ys - ws) / 2, (ys + ws - xs) / 2};
  }

  struct Sizes {
    int64_t tokens, in, out;
  };
  template <class ShapeOf> Sizes sizesOf(const Op& op, ShapeOf shapeOf) const {
    auto count = [](auto begin, auto end) {
      return std::accumulate(begin, end, int64_t(1), std::multiplies<>());
    };
    ValueId x = op.operands[0], w = op.operands[1];
    Ranks ranks = ranksOf(x, w, op.results[0]);
    std::vector<int64_t> xs = shapeOf(program, x), ws = shapeOf(program, w);
    return {count(xs.begin(), xs.begin() + long(ranks.lead)),
            count(ws.begin() + long(ranks.to), ws.end()),
            count(ws.begin(), ws.begin() + long(ranks.to))};
  }

  static std::vector<int64_t> wholeShape(const ir::Module& program,
                                         ValueId value) {
    std::vector<int64_t> shape;
    for (ir::DimId dim : program[value].dims)
      shape.push_back(program[dim].size);
    return shape;
  }

  /// A size of a matmul on a rank and what it must be a multiple of.
  struct CheckedSize {
    const char* what;
    int64_t size, multiple;
  };

  bool checkSizes(const Op& op) {
    const Sizes whole = sizesOf(op, wholeShape);
    const Sizes sizes = sizesOf(op, ir::localShape);
    const auto multipleOf = [&](int64_t size, int64_t wholeSize) {
      return size == wholeSize ? scheme.ofWhole : scheme.multiple;
    };
    for (const CheckedSize& each :
         {CheckedSize{"inputs", sizes.in, multipleOf(sizes.in, whole.in)},
          {"outputs", sizes.out, multipleOf(sizes.out, whole.out)},
          {"tokens", sizes.tokens, scheme.multiple}})
      if (each.size % each.multiple != 0) {
        report(op, each);
        return false;
      }
    return true;
  }

  /// The dimension of a linear's inputs or outputs; `none` when they have
  /// several dimensions.
  ir::DimId onlyDim(const Op& op, bool isOfInputs) const {
    const std::vector<ir::DimId>& dims = program[op.operands[1]].dims;
    const size_t to = ranksOf(op.operands[0], op.operands[1], op.results[0]).to;
    const size_t count = isOfInputs ? dims.size() - to : to;
    return count == 1 ? dims[isOfInputs ? to : 0] : ir::DimId::none;
  }

  void labelWidth(diag::Builder& builder, ir::DimId dim) const {
    const auto& [name, whole, range] = program[dim];
    if (range.isValid())
      builder.label(range, "`" + name + "` = " + std::to_string(whole) +
                               " is given here");
  }

  /// Proposes the nearest widths of the model that give each rank a supported
  /// size.
  diag::Proposal proposeWidths(ir::DimId dim, const CheckedSize& bad) const {
    const auto& [name, whole, range] = program[dim];
    const int64_t unit = bad.multiple * (whole / bad.size);
    diag::Proposal proposal{"change `model." + name + "` to ", {}, "", 2};
    for (int64_t width : {whole / unit * unit, (whole / unit + 1) * unit})
      if (const std::string text = std::to_string(width); width > 0)
        proposal.ways.push_back({text, {"model." + name + "=" + text}, {}});
    return proposal;
  }

  void report(const Op& op, const CheckedSize& bad) {
    const std::string multiple = std::to_string(bad.multiple);
    const std::string_view what = bad.what;
    const bool isOfTokens = what == "tokens";
    const std::string which =
        isOfTokens ? "`batch.micro`, `data.sequence` and what splits them"
                   : "the widths of the model and `tp`";
    const recipe::Value& scaling = recipe.at("precision.fp8");
    const bool isOfBlocks = bad.multiple > tensorwiseMultiple;
    auto builder = engine.report(
        diag::Kind::UnfitForFp8,
        (isOfBlocks ? scaling : recipe.at("precision.compute")).origin.range,
        "matmuls in fp8 take sizes that are multiples of " + multiple +
            (isOfBlocks
                 ? " where `fp8` is \"" + recipe.string("precision.fp8") + "\""
                 : "") +
            ", and `" + op.name + "` has " + std::to_string(bad.size) + " " +
            bad.what + " on a rank");
    builder.note("the model calls it here", op.range);
    const ir::DimId width =
        isOfTokens ? ir::DimId::none : onlyDim(op, what == "inputs");
    const std::string choice =
        "choose " + which + " so that the rank has a multiple of " + multiple;
    if (width == ir::DimId::none) {
      builder.help(choice);
    } else {
      builder.otherwise(choice);
      labelWidth(builder, width);
    }
    if (isOfBlocks && bad.size % tensorwiseMultiple == 0)
      builder.propose({"set `precision.fp8` to ",
                       {{"`\"tensorwise\"`", {"precision.fp8=\"tensorwise\""}}},
                       ""});
    // Existing weights determine the widths.
    if (width != ir::DimId::none && recipe.at("weights").isNone())
      builder.propose(proposeWidths(width, bad));
    builder.propose({"set `precision.compute` to ",
                     {{"`\"bf16\"`", {"precision.compute=\"bf16\""}}},
                     ""});
  }

  /// Finds the operands of an op that is a matmul with a chosen weight.
  bool findMatmul(const Op& op, Matmul& product) const {
    if (op.layer < 0)
      return false;
    switch (op.kind) {
    case OpKind::Linear:
    case OpKind::LinearDgrad: {
      ValueId w = op.operands[1], left = op.operands[0];
      if (!chosen.contains(w))
        return false;
      bool isDgrad = op.kind == OpKind::LinearDgrad;
      Ranks ranks = isDgrad ? ranksOf(op.results[0], w, left)
                            : ranksOf(left, w, op.results[0]);
      product.a = {left, false, ranks.lead,
                   isDgrad ? scheme.gradients : ir::DType::f8e4m3};
      product.b = {w, isDgrad, ranks.to, ir::DType::f8e4m3, true};
      return true;
    }
    case OpKind::LinearWgrad: {
      ValueId x = op.operands[0], dy = op.operands[1], dw = op.results[0];
      if (!isGradientOfChosen(dw))
        return false;
      Ranks ranks = ranksOf(x, dw, dy);
      product.a = {dy, true, ranks.lead, scheme.gradients};
      product.b = {x, true, ranks.lead};
      return true;
    }
    default:
      return false;
    }
  }

  bool isGradientOfChosen(ValueId gradient) const {
    return std::any_of(program.params.begin(), program.params.end(),
                       [&](const ir::Param& param) {
                         return param.gradient == gradient &&
                                chosen.contains(param.value);
                       });
  }

  // ---- the walk

  /// Calls body(op, matmul) for each matmul of the two functions; the body
  /// appends ops to `out`. All other ops are appended unchanged.
  template <class Body> void walk(Body body) {
    std::unordered_map<ValueId, int> none;
    writes.swap(none);
    function = 0;
    for (const char* name : {"forward", "backward"}) {
      std::vector<Op> ops = std::move(ir::findFunction(program, name)->ops);
      for (Op& op : ops) {
        std::vector<ValueId> written = op.results;
        if (Matmul product; findMatmul(op, product))
          body(op, product);
        else
          out.push_back(std::move(op));
        for (ValueId value : written)
          ++writes[value];
      }
      ir::findFunction(program, name)->ops = std::exchange(out, {});
      ++function;
    }
  }

  Source sourceOf(const Operand& operand) {
    bool isMadeAnew = operand.isWeight && !scheme.hasWholeWeights;
    return {operand.value, writes[operand.value], isMadeAnew ? function : 0};
  }

  // ---- the matmuls

  void rewrite(const Op& op, const Matmul& product) {
    auto [a, aScale] = read(product.a, op);
    auto [b, bScale] = read(product.b, op);
    Op made = op;
    made.kind = OpKind::ScaledMatmul;
    made.operands = {a, b, aScale, bScale};
    if (op.kind == OpKind::Linear)
      made.attributes["fast"] = true;
    if (op.kind == OpKind::LinearWgrad)
      made.attributes["accumulate"] = true;
    if (scheme.hasBlocks()) {
      made.attributes["a_blocks"] = blocksOf(product.a);
      made.attributes["b_blocks"] = blocksOf(product.b);
    }
    out.push_back(std::move(made));
  }

  std::string blocksOf(const Operand& operand) const {
    return std::string(operand.isWeight ? scheme.ofWeights : scheme.ofRows);
  }

  /// The operand in fp8 in the layout that the matmul reads, and its scale.
  std::pair<ValueId, ValueId> read(const Operand& operand, const Op& reader) {
    Layouts& layouts = layoutsOf.at(sourceOf(operand));
    if (layouts.function < 0)
      make(operand, layouts, reader);
    ValueId q = operand.isTurned ? layouts.qt : layouts.q;
    bool isOther = operand.isTurned && scheme.hasBlocks();
    ValueId scale = isOther ? layouts.qtScale : layouts.scale;
    if (layouts.function != function)
      program[q].kind = program[scale].kind = ValueKind::saved;
    return {q, scale};
  }

  void make(const Operand& operand, Layouts& layouts, const Op& reader) {
    layouts.function = function;
    Op op{};
    op.kind = OpKind::Quantize;
    op.name = program[operand.value].name;
    op.layer = reader.layer;
    op.range = reader.range;
    op.attributes["lead"] = int64_t(operand.lead);
    if (scheme.hasBlocks())
      op.attributes["blocks"] = blocksOf(operand);
    bool isOfPast = scheme.isOfPast && !operand.isWeight;
    ValueId history = isOfPast ? addAmaxHistory(operand) : ValueId::none;
    std::vector<int64_t> shape = foldedShape(operand);
    bool hasOneScale = !scheme.hasBlocks();
    if (layouts.isPlain)
      layouts.q = addMatrix(operand, false);
    if (layouts.isPlain || hasOneScale)
      layouts.scale = addScale(operand, shape[0], shape[1], ".fp8_scale");
    if (layouts.isTurned)
      layouts.qt = addMatrix(operand, true);
    if (layouts.isTurned && !hasOneScale)
      layouts.qtScale = addScale(operand, shape[1], shape[0], ".fp8_t_scale");
    op.operands = {operand.value, history};
    op.results = {layouts.q, layouts.scale, layouts.qt, layouts.qtScale,
                  history};
    out.push_back(std::move(op));
  }

  std::vector<int64_t> foldedShape(const Operand& operand) const {
    std::vector<int64_t> shape = ir::localShape(program, operand.value);
    auto middle = shape.begin() + long(operand.lead);
    auto count = [](auto begin, auto end) {
      return std::accumulate(begin, end, int64_t(1), std::multiplies<>());
    };
    return {count(shape.begin(), middle), count(middle, shape.end())};
  }

  // ---- values

  ValueId addMatrix(const Operand& operand, bool isTurned) {
    ir::Value value = program[operand.value];
    value.kind = ValueKind::temporary;
    value.type = operand.type;
    value.name = names.make(value.name + (isTurned ? ".fp8_t" : ".fp8"));
    if (isTurned) {
      std::rotate(value.dims.begin(), value.dims.begin() + long(operand.lead),
                  value.dims.end());
      std::rotate(value.sharding.dims.begin(),
                  value.sharding.dims.begin() + long(operand.lead),
                  value.sharding.dims.end());
    }
    return ir::addValue(program, std::move(value));
  }

  /// Adds the scales of a matrix with these local sizes.
  ValueId addScale(const Operand& operand, int64_t rows, int64_t columns,
                   const char* suffix) {
    sizes::Scales scales = sizes::scalesOf(
        *sizes::findScaleBlocks(blocksOf(operand)), rows, columns);
    if (!scheme.hasBlocks())
      scales.shape = {}; // a scalar in a Program
    return addNumbers(operand, suffix, ValueKind::temporary,
                      scales.type == reciperun::ops::DType::f8e8m0
                          ? ir::DType::f8e8m0
                          : ir::DType::f32,
                      scales.shape);
  }

  ValueId addAmaxHistory(const Operand& operand) {
    return addNumbers(operand, ".fp8_history", ValueKind::state, ir::DType::f32,
                      {amaxHistoryLength});
  }

  /// Adds a value for the scales or the history of the rank's shard of an
  /// operand.
  ValueId addNumbers(const Operand& operand, const char* suffix, ValueKind kind,
                     ir::DType type, const std::vector<int64_t>& shape) {
    ir::Value value;
    value.name = names.make(program[operand.value].name + suffix);
    value.kind = kind;
    value.type = type;
    value.range = program[operand.value].range;
    for (int64_t size : shape)
      value.dims.push_back(ir::constantDim(program, size));
    value.sharding.dims.resize(shape.size());
    return ir::addValue(program, std::move(value));
  }

  ir::Module& program;
  const recipe::Recipe& recipe;
  diag::Engine& engine;
  Scheme scheme;
  ValueNames names;
  std::set<ValueId> weights; // all except those of adapters
  std::set<ValueId> chosen;  // weights of the chosen linears
  std::unordered_map<ValueId, int> writes;
  int function = 0; // the current function
  std::map<Source, Layouts> layoutsOf;
  std::vector<Op> out;
};

// ---- weights that ranks keep

class Keeping {
public:
  explicit Keeping(ir::Module& stage)
      : stage(stage), isRead(stage.values.size()) {
    for (const ir::Function& function : stage.functions)
      for (const Op& op : function.ops)
        for (ValueId operand : op.operands)
          if (operand != ValueId::none)
            isRead[size_t(operand)] = true;
    for (const ir::Transfer& transfer : stage.transfers)
      isRead[size_t(transfer.value)] = true;
    for (const ir::Param& param : stage.params)
      (param.trainable ? trained : frozen).insert(param.value);
  }

  void run() {
    std::vector<Op> eachStep, once;
    for (ir::Function& function : stage.functions) {
      bool isForward = function.name.starts_with("forward");
      std::erase_if(function.ops, [&](Op& op) {
        if (op.kind != OpKind::Quantize)
          return false;
        dropUnread(op);
        bool isFrozen = frozen.contains(op.operands[0]);
        if (!isForward || !(isFrozen || trained.contains(op.operands[0])))
          return false;
        keep(op);
        (isFrozen ? once : eachStep).push_back(std::move(op));
        return true;
      });
    }
    append("begin", std::move(eachStep));
    append("prepare", std::move(once));
  }

private:
  void dropUnread(Op& op) const {
    for (size_t i = 0; i < 4; ++i)
      if (ValueId& result = op.results[i];
          result != ValueId::none && !isRead[size_t(result)])
        result = ValueId::none;
  }

  void keep(const Op& op) {
    for (ValueId result : op.results)
      if (result != ValueId::none)
        stage[result].kind = ValueKind::parameter;
  }

  void append(const char* name, std::vector<Op> ops) {
    if (ops.empty())
      return;
    std::vector<Op>& all = ir::obtainFunction(stage, name).ops;
    std::move(ops.begin(), ops.end(), std::back_inserter(all));
  }

  ir::Module& stage;
  std::vector<bool> isRead;
  std::set<ValueId> trained, frozen;
};

} // namespace

void quantize(ir::Module& program, const recipe::Recipe& recipe,
              diag::Engine& engine) {
  if (recipe.string("precision.compute") == "fp8")
    Quantization(program, recipe, engine).run();
}

void keepQuantizedWeights(ir::Module& stage) {
  Keeping(stage).run();
}

} // namespace recipec::passes
