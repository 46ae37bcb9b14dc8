// Looks up the names of a list of targets; see AdapterTargets.h.

#include "compiler/passes/build/AdapterTargets.h"

#include "compiler/passes/ValueNames.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <utility>

namespace recipec::passes {

namespace {

using ir::Op;
using ir::OpKind;

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names)
    list += (list.empty() ? "`" : ", `") + name + "`";
  return list;
}

} // namespace

AdapterTargets::AdapterTargets(const ir::Module& module,
                               const recipe::Recipe& recipe, std::string path,
                               diag::Engine& engine)
    : module(module), recipe(recipe), path(std::move(path)), engine(engine) {
  for (size_t i = 0; i < module.params.size(); ++i)
    paramOf.emplace(module.params[i].value, ir::ParamId(i));
}

/// Whether an op is a linear with a weight that is named after it.
bool AdapterTargets::isNamedLinear(const Op& op) const {
  return op.kind == OpKind::Linear &&
         module[op.operands[1]].name == op.name + ".weight";
}

/// Whether the weight of the linear is only a part of the rows of a Hugging
/// Face tensor.
bool AdapterTargets::isPart(const Op& linear) const {
  return module[paramOf.at(linear.operands[1])].hfRows > 0;
}

bool AdapterTargets::contains(const Op& op) const {
  return isNamedLinear(op) && !isPart(op) &&
         targets.contains(lastPart(op.name));
}

bool AdapterTargets::find() {
  std::set<std::string, std::less<>> linears;
  for (const Op& op : module.functions[0].ops)
    if (isNamedLinear(op) && !isPart(op))
      linears.emplace(lastPart(op.name));
  const recipe::Value& given = recipe.at(path);
  bool isDefault = given.origin.kind == recipe::Origin::Kind::defaultValue;
  std::vector<std::string> missing; // default targets
  for (const recipe::Value& target : std::get<recipe::List>(given.data)) {
    const auto& name = std::get<std::string>(target.data);
    if (linears.contains(name))
      targets.insert(name);
    else if (const Op* part = findPart(name))
      reportPart(target, *part, {linears.begin(), linears.end()});
    else if (isDefault)
      missing.push_back(name);
    else
      reportUnknown(target, name, {linears.begin(), linears.end()});
  }
  if (!missing.empty())
    reportDefault(given.origin.range, missing,
                  {linears.begin(), linears.end()});
  return !engine.hasErrors();
}

/// Reports default targets that this model lacks.
void AdapterTargets::reportDefault(SourceRange place,
                                   const std::vector<std::string>& missing,
                                   const std::vector<std::string>& candidates) {
  std::set<std::string> ofLayers;
  for (const Op& op : module.functions[0].ops)
    if (isNamedLinear(op) && !isPart(op) && op.layer >= 0)
      ofLayers.emplace(lastPart(op.name));
  std::string list;
  for (const std::string& name : ofLayers)
    list += (list.empty() ? "\"" : ", \"") + name + "\"";
  const std::string field = "`" + std::string(lastPart(path)) + "`";
  engine
      .report(diag::Kind::UnknownName, place,
              field + " of `" + std::string(scopeOf(path)) +
                  "` are not given, and the model has no linear op called " +
                  listed(missing) + ", as they are by default")
      .note("the linear ops are " + listed(candidates))
      .propose({"write `" + std::string(lastPart(path)) + " = ",
                {{"[" + list + "]", {path + "=[" + list + "]"}}},
                "`, or some of these"})
      .otherwise("name some of those in " + field);
}

/// A linear with a part of the tensor `name`, or a linear of that name that
/// makes a part.
const Op* AdapterTargets::findPart(const std::string& name) const {
  for (const Op& op : module.functions[0].ops)
    if (isNamedLinear(op) && isPart(op) &&
        (lastPart(op.name) == name || lastPart(scopeOf(op.name)) == name))
      return &op;
  return nullptr;
}

void AdapterTargets::reportPart(const recipe::Value& target, const Op& part,
                                const std::vector<std::string>& candidates) {
  std::string tensor(lastPart(scopeOf(part.name)));
  engine
      .report(diag::Kind::NotSupported, target.origin.range,
              "this version does not support an adapter of `" + tensor +
                  "`, which is one matrix of a checkpoint and several "
                  "linear ops of the model")
      .note("the linear ops are made here", part.range)
      .note("linear ops that can be adapted are " + listed(candidates))
      .help("leave it out, or name some of those");
}

bool AdapterTargets::isOfExperts(const std::string& name) const {
  const auto& ops = module.functions[0].ops;
  return std::any_of(ops.begin(), ops.end(), [&](const Op& op) {
    return op.kind == OpKind::ExpertLinear && lastPart(op.name) == name;
  });
}

void AdapterTargets::reportUnknown(const recipe::Value& target,
                                   const std::string& name,
                                   const std::vector<std::string>& candidates) {
  if (isOfExperts(name)) {
    engine
        .report(diag::Kind::NotSupported, target.origin.range,
                "this version does not support an adapter of the experts, "
                "which `" +
                    name + "` is a matrix of")
        .note("the linear ops that can be adapted are " + listed(candidates))
        .help("leave it out, or name some of those");
    return;
  }
  diag::Builder report =
      engine.report(diag::Kind::UnknownName, target.origin.range,
                    "no linear op of the model is called `" + name + "`");
  report.note("the linear ops are " + listed(candidates));
  if (std::optional<std::string> own = namedByCheckpoint(name))
    report.help("that is `\"" + *own + "\"` here")
        .fixIt(target.origin.range, "\"" + *own + "\"",
               diag::Applicability::safe);
  else if (!report.suggest(target.origin.range, name, candidates, "\""))
    report.help("write names of these ops in `" + std::string(lastPart(path)) +
                "`");
}

/// The name in the model of the linear that a Hugging Face weight belongs to:
/// `q` for `q_proj`.
std::optional<std::string>
AdapterTargets::namedByCheckpoint(std::string_view name) const {
  for (const Op& op : module.functions[0].ops) {
    if (!isNamedLinear(op) || isPart(op))
      continue;
    std::string_view hfName = module[paramOf.at(op.operands[1])].hfName;
    if (lastPart(scopeOf(hfName)) == name)
      return std::string(lastPart(op.name));
  }
  return std::nullopt;
}

} // namespace recipec::passes
