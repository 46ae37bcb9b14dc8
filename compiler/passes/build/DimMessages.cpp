// See DimMessages.h.

#include "compiler/passes/build/DimMessages.h"

#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace recipec::passes {
namespace {

/// The most numbers of heads that a help proposes.
constexpr size_t mostWays = 3;

std::string nameOf(const ir::Module& module, ir::DimId dim) {
  const std::string_view name = module[dim].name;
  return std::string(name.substr(0, name.find('.')));
}

std::string sized(const ir::Module& module, ir::DimId dim) {
  return "`" + nameOf(module, dim) + "` = " + std::to_string(module[dim].size);
}

bool keepsDims(ir::OpKind kind) {
  const ops::OpFamily family = ops::infoOf(kind).family;
  return family == ops::OpFamily::norms ||
         family == ops::OpFamily::activations || kind == ir::OpKind::Rope ||
         kind == ir::OpKind::AddBias;
}

} // namespace

const ir::Op* makerBehind(const ir::Module& module, ir::ValueId value) {
  const std::vector<ir::Op>& ops = module.functions.front().ops;
  for (auto at = ops.rbegin(); at != ops.rend(); ++at) {
    if (std::ranges::find(at->results, value) == at->results.end())
      continue;
    if (!keepsDims(at->kind) || at->operands.empty())
      return &*at;
    value = at->operands.front();
  }
  return nullptr;
}

const ir::Op* linearBehind(const ir::Module& module, ir::ValueId value) {
  const ir::Op* maker = makerBehind(module, value);
  return maker && maker->kind == ir::OpKind::Linear ? maker : nullptr;
}

bool reportHeads(const ir::Module& module, const ir::Op& attention,
                 ir::DimId queries, ir::DimId keys, diag::Engine& engine) {
  const SourceRange given = module[keys].range;
  auto builder = engine.report(
      diag::Kind::ShapeMismatch, given.isValid() ? given : attention.range,
      sized(module, keys) + " does not divide " + sized(module, queries));
  builder.label("each key head serves as many query heads");
  if (given.isValid())
    builder.label(attention.range, "in this attention");
  builder.label(module[queries].range, sized(module, queries));
  const std::string name = nameOf(module, keys);
  const int64_t heads = module[queries].size, now = module[keys].size;
  diag::Proposal proposal{"change `" + name + "` to ", {}, ""};
  auto add = [&](int64_t count) {
    const std::string text = std::to_string(count);
    proposal.ways.push_back({text, {"model." + name + "=" + text}});
  };
  for (int64_t count = std::min(now, heads);
       count >= 1 && proposal.ways.size() + 1 < mostWays; --count)
    if (heads % count == 0)
      add(count);
  for (int64_t count = now + 1; count <= heads; ++count)
    if (heads % count == 0) {
      add(count);
      break;
    }
  builder.propose(std::move(proposal));
  return false;
}

void helpWithHeads(const ir::Module& module, ir::ValueId operand,
                   const std::string& name, std::string_view made,
                   diag::Builder& builder) {
  const ir::Value& value = module[operand];
  const std::string last =
      value.dims.empty() ? "hidden" : nameOf(module, value.dims.back());
  const ir::Op* maker = makerBehind(module, operand);
  if (maker && maker->kind == ir::OpKind::Linear) {
    builder.label(maker->range, "its [.., `" + last + "`] is made here")
        .help("make heads there: write `-> [heads, head_dim]` in place of "
              "`-> " +
              last + "`");
    return;
  }
  if (value.range.isValid())
    builder.label(value.range, "`" + name + "` is made here");
  if (maker && maker->kind == ir::OpKind::Broadcast)
    builder.help("leave `broadcast` out: `attention` takes fewer heads of keys "
                 "and values than of queries");
  else if (value.dims.size() > 4)
    builder.help("give it these four dimensions");
  else
    builder.help("split it into heads: `linear(..., " + last +
                 " -> [heads, head_dim], name = \"" + std::string(made) +
                 "\")`");
}

void reportOddWidth(const ir::Module& module, const ir::Op& rope,
                    ir::DimId width, diag::Engine& engine) {
  // Queries and keys have one width: the error is at its size.
  const SourceRange given = module[width].range;
  auto builder = engine.report(
      diag::Kind::ShapeMismatch, given.isValid() ? given : rope.range,
      "`rope` rotates pairs, and " + sized(module, width) + " is odd");
  if (given.isValid())
    builder.label(rope.range, "in this `rope`");
  const std::string name = nameOf(module, width);
  diag::Proposal proposal{"change `" + name + "` to ", {}, ""};
  for (int64_t size : {module[width].size - 1, module[width].size + 1}) {
    const std::string text = std::to_string(size);
    if (size > 0)
      proposal.ways.push_back({text, {"model." + name + "=" + text}});
  }
  builder.propose(std::move(proposal))
      .otherwise("choose sizes that make `" + name + "` even");
}

/// `[batch, sequence, hidden]`
static std::string shapeOf(const ir::Module& module, ir::ValueId value) {
  std::string shape;
  for (ir::DimId dim : module[value].dims)
    shape += (shape.empty() ? "`[" : ", ") + nameOf(module, dim);
  return shape + "]`";
}

void reportParameter(const ir::Module& module, const recipe::Call& call,
                     ir::OpKind kind, int place, ir::ValueId parameter,
                     ir::ValueId other, diag::Engine& engine) {
  const std::string shapes =
      other == ir::ValueId::none
          ? std::string("one is a parameter")
          : "this is a parameter " + shapeOf(module, parameter) +
                " beside a tensor " + shapeOf(module, other);
  std::string message = "`" + call.op + "` takes a computed tensor as `" +
                        std::string(ops::infoOf(kind).operands[place].name) +
                        "`, and not a parameter";
  std::string help =
      "`recipec doc " + call.op + "` shows its arguments in order";
  if (kind == ir::OpKind::Mul) {
    message = "`*` multiplies two computed tensors of one shape, and " + shapes;
    help = "no op multiplies by a parameter alone: `rmsnorm` multiplies by its "
           "weight after it has normalised, and `scale` by a number";
  } else if (kind == ir::OpKind::Add) {
    message = "`+` adds two computed tensors of one shape, and " + shapes;
    help = "`linear(..., bias = true)` adds a bias";
  } else if (kind == ir::OpKind::Embedding) {
    help = "the tokens come first: write `" + call.op +
           "(tokens, parameter(...))`";
  }
  engine.report(diag::Kind::ShapeMismatch, call.range, std::move(message))
      .note("made here", module[parameter].range)
      .help(std::move(help));
}

void reportSwapped(const recipe::Call& call, size_t one, size_t other,
                   diag::Engine& engine) {
  const auto [first, second] = std::minmax(one, other);
  const recipe::WrittenOperand& before = call.written[first];
  const recipe::WrittenOperand& behind = call.written[second];
  const bool isInOrder = before.range.begin < behind.range.begin;
  const SourceRange place = isInOrder ? cover(before.range, behind.range)
                                      : cover(behind.range, before.range);
  engine
      .report(diag::Kind::ShapeMismatch, place,
              "`" + call.op + "` takes `" + before.parameter + "` before `" +
                  behind.parameter + "`, and these are the other way round")
      .help("exchange them: write `" + behind.text + "` as `" +
            before.parameter + "` and `" + before.text + "` as `" +
            behind.parameter + "`")
      .fixIt(before.range, behind.text, diag::Applicability::safe)
      .fixIt(behind.range, before.text, diag::Applicability::safe);
}

void warnOfSharedWeight(const ir::Op& linear, const std::string& from,
                        const std::string& to, diag::Engine& engine) {
  auto bare = [](const std::string& text) {
    return text.substr(1, text.size() - 2);
  };
  engine
      .report(diag::Kind::UnlikelySetting, linear.range,
              "these are rows of experts, and all experts share the weight of "
              "this `linear`")
      .help("for a weight of each expert write `expert_linear(..., " +
            bare(from) + " -> " + bare(to) + ", experts, name = \"...\")`");
}

} // namespace recipec::passes
