// Checks the declarations of a file without launching a recipe; see
// CheckFile.h.

#include "compiler/sema/recipes/CheckFile.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/models/Trace.h"
#include "compiler/sema/names/NameCheck.h"
#include "compiler/sema/recipes/Layouts.h"
#include "compiler/sema/recipes/Sweep.h"
#include "compiler/sema/types/Mismatch.h"

namespace recipec::sema {
namespace {

class FileCheck {
public:
  FileCheck(const SourceMap& sources, const ast::File& file, Loader& loader,
            diag::Engine& engine)
      : file(file), engine(engine), evaluator(sources, loader, engine) {}

  void run();

private:
  void check(ModuleEntry& entry);
  void checkConstant(const Value& value);
  void checkSchema(const Schema& schema);
  void checkModel(const Schema& schema);
  void checkRecipe(const ast::RecipeDecl& recipe);
  void checkMixin(const Mixin& mixin);
  void checkSweep(const std::string& name, Object& settings);
  void checkParameters(const std::vector<ast::Parameter>& parameters);
  bool isWhole(Object& object);

  const ast::File& file;
  diag::Engine& engine;
  Evaluator evaluator;
  Module* module = nullptr;
};

void FileCheck::run() {
  module = evaluator.modules.open(file);
  if (!module)
    return;
  evaluator.isPartial = true;
  for (auto& [name, entry] : module->entries) {
    evaluator.recipeRange = entry.nameRange;
    check(entry);
  }
}

void FileCheck::check(ModuleEntry& entry) {
  const auto& node = entry.declaration->node;
  if (std::holds_alternative<ast::Import>(node))
    return;
  const Value& value = evaluator.modules.entryValue(*module, entry);
  if (value.isPoison())
    return;
  if (std::holds_alternative<ast::Let>(node)) {
    checkConstant(value);
  } else if (auto* recipe = std::get_if<ast::RecipeDecl>(&node)) {
    checkRecipe(*recipe);
  } else if (auto* schema = value.get<const Schema*>()) {
    checkSchema(**schema);
  } else if (auto* mixin = value.get<const Mixin*>()) {
    checkMixin(**mixin);
  } else if (auto* function = std::get_if<ast::FunDecl>(&node)) {
    NameCheck(evaluator, module->env).check(*function);
    checkParameters(function->parameters);
  } else if (auto* block = std::get_if<ast::BlockDecl>(&node)) {
    NameCheck(evaluator, module->env).check(*block);
    checkParameters(block->parameters);
  }
}

/// Checks that defaults have the types of their parameters.
void FileCheck::checkParameters(const std::vector<ast::Parameter>& parameters) {
  for (const ast::Parameter& parameter : parameters) {
    if (parameter.defaultValue == ast::ExprId::none ||
        parameter.type == ast::TypeId::none)
      continue;
    expect(evaluator, evaluator.evaluate(parameter.defaultValue, module->env),
           *evaluator.types.resolve(module->env, parameter.type),
           file[parameter.defaultValue].range, "`" + parameter.name.text + "`");
  }
}

/// Evaluates the fields. Returns whether all of them have values.
bool FileCheck::isWhole(Object& object) {
  int errors = engine.errors();
  int64_t missing = evaluator.missing;
  evaluator.objects.finish(object);
  return evaluator.missing == missing && engine.errors() == errors;
}

void FileCheck::checkConstant(const Value& value) {
  if (const ListValue* const* list = value.get<const ListValue*>()) {
    for (const Value& element : (*list)->elements)
      if (evaluator.limits.takeStep(element.origin.range))
        checkConstant(element);
    return;
  }
  Object* const* object = value.get<Object*>();
  if (!object)
    return;
  const Object& record = **object;
  Object* copy =
      evaluator.objects.make(record.schema, record.layers, record.range);
  if (!isWhole(*copy))
    return;
  // Nothing is missing, so the conditions of the constant have to hold.
  evaluator.isPartial = false;
  evaluator.objects.finish(
      *evaluator.objects.make(record.schema, record.layers, record.range));
  evaluator.isPartial = true;
}

void FileCheck::checkSchema(const Schema& schema) {
  // The schema of another file is checked with that file.
  if (schema.file != module->file)
    return;
  for (const Field& field : schema.fields)
    evaluator.types.resolve(module->env, field.declaration->type);
  Object* object = evaluator.objects.make(&schema, {}, schema.range);
  NameCheck names(evaluator, *evaluator.objects.schemaScope(*object));
  for (const ast::Item& item : schema.body->items) {
    if (auto* field = std::get_if<ast::FieldDecl>(&item.node)) {
      names.check(field->defaultValue);
    } else if (auto* require = std::get_if<ast::Require>(&item.node)) {
      names.check(require->condition);
      names.check(require->message);
    } else if (auto* let = std::get_if<ast::Let>(&item.node)) {
      names.check(let->value);
    } else if (auto* function = std::get_if<ast::FunDecl>(&item.node)) {
      names.check(*function);
    } else if (auto* block = std::get_if<ast::BlockDecl>(&item.node)) {
      names.check(*block);
    }
  }
  bool hasAll = isWhole(*object);
  if (hasAll && schema.isModel)
    checkModel(schema);
}

void FileCheck::checkModel(const Schema& schema) {
  evaluator.isPartial = false;
  Object* model = evaluator.objects.make(&schema, {}, schema.range);
  evaluator.objects.finish(*model);
  Tracer(evaluator, *model).run();
  evaluator.isPartial = true;
}

void FileCheck::checkRecipe(const ast::RecipeDecl& recipe) {
  if (!recipe.isAbstract)
    return; // checked by analyze()
  Object* settings = evaluator.recipes.settingsOf(recipe, *module, {});
  if (!settings)
    return;
  evaluator.objects.finish(*settings);
  for (const Layout& layout : layoutsOf(evaluator, *settings).all)
    evaluator.objects.finish(*evaluator.objects.amended(
        *settings, layoutLayer(evaluator, layout), settings->range));
  checkSweep(recipe.name.text, *settings);
}

/// Checks each value of each axis once, with the first values of the other
/// axes.
void FileCheck::checkSweep(const std::string& name, Object& settings) {
  if (settings.sweeps.empty())
    return;
  std::optional<Sweep> sweep = sweepOf(evaluator, name, settings, {});
  for (size_t i = 0; sweep && i < sweep->count(); ++i) {
    size_t varied = 0;
    for (size_t axis = 0; axis < sweep->axes.size(); ++axis)
      varied += &sweep->at(axis, i) != &sweep->axes[axis].values.front();
    if (varied <= 1)
      evaluator.objects.finish(*evaluator.objects.amended(
          settings, pointLayer(evaluator, *sweep, i), settings.range));
  }
}

void FileCheck::checkMixin(const Mixin& mixin) {
  if (mixin.env != &module->env)
    return;
  const ast::MixinDecl& declaration = *mixin.declaration;
  for (const ast::Parameter& parameter : declaration.parameters)
    if (parameter.type != ast::TypeId::none)
      evaluator.types.resolve(module->env, parameter.type);
  checkParameters(declaration.parameters);
  Object* settings = evaluator.recipes.settingsOf(mixin);
  if (!settings)
    return;
  evaluator.objects.finish(*settings);
  checkSweep(declaration.name.text, *settings);
}

} // namespace

void checkFile(const SourceMap& sources, const ast::File& file, Loader& loader,
               diag::Engine& engine) {
  FileCheck(sources, file, loader, engine).run();
}

} // namespace recipec::sema
