// Makes mappings of dimensions, `from -> to`, and reports invalid sides.
//
// A side is a dimension or a list of dimensions. Other values suggest what was
// meant: a product of dimensions is meant as a list, a field of type `int`
// should be of type `dim`, and a number is a dimension that is not declared
// yet.

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/models/Trace.h"
#include "compiler/sema/values/Lower.h"

#include <algorithm>
#include <map>

namespace recipec::sema {
namespace {

/// The name of the model's dimension with this size; empty if there is none or
/// more than one.
std::string dimOfSize(int64_t size, const Env& env) {
  std::string found;
  for (const Env* at = &env; at; at = at->outer) {
    if (!at->object || !at->object->schema || !at->object->schema->isModel)
      continue;
    for (const Slot& slot : at->object->slots) {
      const DimRef* dim = slot.value.get<DimRef>();
      if (!dim || dim->size != size)
        continue;
      if (!found.empty())
        return {};
      found = slot.name;
    }
    return found;
  }
  return found;
}

/// Reports a side of a mapping, or a list element in it, that is not a
/// dimension.
class NoDimension {
public:
  NoDimension(Evaluator& evaluator, ast::ExprId id, const Value& value,
              const Env& env, bool isInList)
      : evaluator(evaluator), file(*env.file), id(id), value(value), env(env),
        isInList(isInList) {}

  /// Returns the field as a dimension if it only lacks the type `dim`.
  std::optional<DimRef> report() {
    if (reportField())
      return field;
    if (reportHidden())
      return std::nullopt;
    auto builder = evaluator.messages.report(
        diag::Kind::WrongType, file[id].range,
        "`->` maps named dimensions, and this is of type `" +
            typeNameOf(value) + "`");
    if (value.is<Object*>() || value.is<Module*>())
      builder.help("a member is named with a dot: write `" +
                   textOf(file[id].range) + ".name`");
    else if (!helpWithProduct(builder) && !helpWithName(builder) &&
             !helpWithSize(builder))
      builder.help("declare a field of type `dim` in the model");
    return std::nullopt;
  }

private:
  std::string textOf(SourceRange range) const {
    return std::string(evaluator.sources.text(range));
  }

  /// `ffn : int` in the model instead of `dim`: the declaration is reported,
  /// once for all uses of the field.
  bool reportField() {
    auto* name = std::get_if<ast::NameRef>(&file[id].node);
    const Binding binding =
        name ? evaluator.lookup.findBinding(name->name.text, env) : Binding{};
    if (!binding.slot || !binding.slot->field || !binding.env->object->schema ||
        !value.get<int64_t>())
      return false;
    if (!evaluator.operators.reportFieldWithoutDim(
            *binding.env->object, *binding.slot, file[id].range))
      return false;
    field =
        DimRef{binding.env->object, binding.slot->name, *value.get<int64_t>()};
    return true;
  }

  /// `hidden = layer(x)` in a block of a model with the dimension `hidden`:
  /// reports the variable that hides the dimension.
  bool reportHidden() {
    auto* name = std::get_if<ast::NameRef>(&file[id].node);
    const Binding binding =
        name ? evaluator.lookup.findBinding(name->name.text, env) : Binding{};
    if (!binding.local || !isFieldOutside(*binding.env, name->name.text))
      return false;
    const std::string& text = name->name.text;
    auto builder = evaluator.messages.report(
        diag::Kind::WrongType, file[id].range,
        "`" + text + "` is a variable here, of type `" + typeNameOf(value) +
            "`, and hides the dimension `" + text + "` of the model");
    if (value.origin.range.isValid())
      builder.label(value.origin.range, "its value is made here");
    builder.help("give the variable another name, say `" + freeVariable() +
                 "`, in each statement that means it");
    return true;
  }
  static bool isFieldOutside(const Env& inside, std::string_view name) {
    for (const Env* at = inside.outer; at; at = at->outer)
      if (Slot* slot = at->object ? at->object->find(name) : nullptr)
        return slot->value.is<DimRef>();
    return false;
  }
  std::string freeVariable() const {
    for (const char* name : {"x", "y", "h"})
      if (!evaluator.lookup.findBinding(name, env))
        return name;
    return "state";
  }

  /// `heads * head_dim -> hidden`
  bool helpWithProduct(diag::Builder& builder) {
    std::string dims;
    if (!factors(id, dims) || dims.find(',') == dims.npos)
      return false;
    const std::string text = isInList ? dims : "[" + dims + "]";
    builder.help("several dimensions are a list: write `" + text + "`")
        .fixIt(file[id].range, text);
    return true;
  }

  /// Appends the factors of a product. Returns whether all are dimensions.
  bool factors(ast::ExprId expr, std::string& dims) {
    auto* product = std::get_if<ast::Binary>(&file[expr].node);
    if (product && product->op == ast::BinaryOp::multiply)
      return factors(product->left, dims) && factors(product->right, dims);
    if (!std::holds_alternative<ast::NameRef>(file[expr].node) ||
        !evaluator.evaluate(expr, env).is<DimRef>())
      return false;
    dims += (dims.empty() ? "" : ", ") + textOf(file[expr].range);
    return true;
  }

  /// `"hidden" -> "ffn"`
  bool helpWithName(diag::Builder& builder) {
    const std::string* name = value.get<std::string>();
    const Binding binding =
        name ? evaluator.lookup.findBinding(*name, env) : Binding{};
    if (!binding.slot)
      return false;
    builder
        .help("write `" + *name +
              "`, without the quotation marks: a dimension is a field of type "
              "`dim`")
        .fixIt(file[id].range, *name);
    return true;
  }

  /// `hidden -> 384`, `hidden -> 3 * hidden`
  bool helpWithSize(diag::Builder& builder) {
    const int64_t* size = value.get<int64_t>();
    if (!size || *size < 1)
      return false;
    const std::string same = dimOfSize(*size, env);
    if (!same.empty() &&
        std::holds_alternative<ast::IntLiteral>(file[id].node)) {
      builder.help("write `" + same + "`, the dimension of this size")
          .fixIt(file[id].range, same);
      return true;
    }
    std::string text = textOf(file[id].range);
    std::string name = freeName();
    // For a variable of the block, the new field takes its name and its size.
    if (std::holds_alternative<ast::NameRef>(file[id].node)) {
      name = text;
      text = textOf(value.origin.range);
    }
    if (text.empty() || text == name || text.find('\n') != text.npos)
      return false;
    builder.help("declare it in the model, `" + name + " : dim = " + text +
                 "`, and write `" + name + "`");
    return true;
  }

  std::string freeName() const {
    for (const char* name : {"width", "inner", "features"})
      if (!evaluator.lookup.findBinding(name, env))
        return name;
    return "size";
  }

  Evaluator& evaluator;
  const ast::File& file;
  ast::ExprId id;
  const Value& value;
  const Env& env;
  bool isInList;
  std::optional<DimRef> field;
};

/// Numbers in a mapping, `64 -> [4, 16]`, and the dimensions to write instead.
class SizesInMapping {
public:
  SizesInMapping(Evaluator& evaluator, const Env& env)
      : evaluator(evaluator), file(*env.file), env(env) {}

  void collect(ast::ExprId id) {
    if (auto* elements = std::get_if<ast::ListExpr>(&file[id].node))
      for (ast::ExprId each : elements->elements)
        collect(each);
    else if (auto* number = std::get_if<ast::IntLiteral>(&file[id].node))
      sizes.push_back({file[id].range, number->value});
  }

  bool areSeveral() const { return sizes.size() > 1; }

  /// Reports all numbers in the mapping at `range` as one error.
  void report(SourceRange range) {
    std::string text(evaluator.sources.text(range)), declared;
    for (size_t i = sizes.size(); i > 0; --i) {
      const auto& [place, size] = sizes[i - 1];
      const std::string name = nameFor(size, declared);
      text.replace(place.begin - range.begin, place.end - place.begin, name);
    }
    auto builder = evaluator.messages.report(
        diag::Kind::WrongType, range,
        "`->` maps named dimensions, and these are numbers");
    if (text.find('\n') != text.npos)
      builder.help("declare a field of type `dim` for each in the model");
    else if (declared.empty())
      builder.help("write `" + text + "`, the dimensions of these sizes")
          .fixIt(range, text);
    else
      builder.help("declare " + declared + " in the model, and write `" + text +
                   "`");
  }

private:
  /// The model's dimension of the size, or a new one, which is added to
  /// `declared`.
  std::string nameFor(int64_t size, std::string& declared) {
    if (const std::string own = dimOfSize(size, env); !own.empty())
      return own;
    if (auto known = added.find(size); known != added.end())
      return known->second;
    std::string name = "width";
    for (int i = 2; evaluator.lookup.findBinding(name, env) ||
                    declared.find("`" + name + " :") != declared.npos;
         ++i)
      name = "width" + std::to_string(i);
    declared += (declared.empty() ? "`" : " and `") + name +
                " : dim = " + std::to_string(size) + "`";
    added.emplace(size, name);
    return name;
  }

  Evaluator& evaluator;
  const ast::File& file;
  const Env& env;
  std::vector<std::pair<SourceRange, int64_t>> sizes;
  std::map<int64_t, std::string> added;
};

} // namespace

bool Operators::reportFieldWithoutDim(const Object& object, const Slot& slot,
                                      SourceRange use) {
  const ast::TypeId type = slot.field->declaration->type;
  const SourceRange place = (*object.schema->layer.env->file)[type].range;
  if (evaluator.isLibrary(place))
    return false;
  const std::string field(slot.name);
  evaluator.messages
      .report(diag::Kind::WrongType, place,
              "`" + field + "` is of type `" +
                  std::string(evaluator.sources.text(place)) +
                  "`, and ops take dimensions, which are of type `dim`")
      .label(use, "it is used here")
      .help("write `" + field + " : dim`")
      .fixIt(place, "dim");
  return true;
}

bool Operators::appendDims(ast::ExprId id, const Value& value,
                           std::vector<DimRef>& dims, const Env& env,
                           bool isInList) {
  if (const DimRef* dim = value.get<DimRef>()) {
    dims.push_back(*dim);
    return true;
  }
  const ListValue* const* list = value.get<const ListValue*>();
  if (!list) {
    const auto field =
        NoDimension(evaluator, id, value, env, isInList).report();
    if (!field || !evaluator.tracer)
      return false;
    // Tracing continues, because other fields may lack the type too.
    evaluator.tracer->breakOff();
    dims.push_back(*field);
    return true;
  }
  auto* written = std::get_if<ast::ListExpr>(&(*env.file)[id].node);
  const std::vector<Value>& elements = (*list)->elements;
  for (size_t i = 0; i < elements.size(); ++i)
    if (!appendDims(written ? written->elements[i] : id, elements[i], dims, env,
                    written != nullptr))
      return false;
  if (dims.empty())
    evaluator.messages
        .report(diag::Kind::InvalidValue, (*env.file)[id].range,
                "`->` maps at least one dimension to at least one")
        .help("write a dimension of the model, as in `hidden -> ffn`");
  return !dims.empty();
}

Value Operators::makeMapping(const ast::Binary& node, const Value& left,
                             const Value& right, SourceRange range,
                             const Env& env) {
  SizesInMapping sizes(evaluator, env);
  sizes.collect(node.left);
  sizes.collect(node.right);
  if (sizes.areSeveral()) {
    sizes.report(range);
    return poison();
  }
  Mapping mapping;
  if (!appendDims(node.left, left, mapping.from, env, false) ||
      !appendDims(node.right, right, mapping.to, env, false))
    return poison();
  return {&std::as_const(evaluator.store.make<Mapping>(std::move(mapping))),
          evaluator.writtenAt(range)};
}

} // namespace recipec::sema
