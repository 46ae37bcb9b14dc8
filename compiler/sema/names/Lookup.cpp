// Looks up names, and the members of records and files.

#include "compiler/sema/names/Lookup.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/builtins/Builtins.h"
#include "compiler/sema/names/ForeignWords.h"
#include "compiler/sema/names/Interpolation.h"
#include "compiler/sema/names/Methods.h"
#include "compiler/sema/names/NameCheck.h"
#include "compiler/sema/names/NearestNames.h"
#include "compiler/sema/names/OtherNames.h"
#include "compiler/sema/names/OwnFields.h"
#include "compiler/sema/names/Sections.h"
#include "compiler/sema/names/ShellVariables.h"
#include "compiler/sema/names/UnknownCalls.h"
#include "compiler/sema/types/Quotation.h"
#include "compiler/sema/types/TypeHelp.h"

#include <algorithm>

namespace recipec::sema {
namespace {

template <class Declaration>
const Declaration* named(const std::vector<const Declaration*>& declarations,
                         std::string_view name) {
  for (const Declaration* declaration : declarations)
    if (declaration->name.text == name)
      return declaration;
  return nullptr;
}

/// The declaration in the text of this level: a parameter, a `let`, ...
Binding declaredAt(const Env& env, std::string_view name) {
  Binding binding{&env};
  if (env.locals)
    binding.local = env.locals->find(name);
  if (!env.object || !env.layer)
    return binding;
  binding.let = named(env.layer->lets, name);
  binding.function = named(env.layer->functions, name);
  binding.block = named(env.layer->blocks, name);
  return binding;
}

/// Whether the field appears in the text of this level.
bool isWrittenAt(const Env& env, std::string_view name) {
  bool isOfSchema =
      env.object->schema && env.layer == &env.object->schema->layer;
  return isOfSchema ||
         (env.layer &&
          std::any_of(env.layer->members.begin(), env.layer->members.end(),
                      [&](const Member& member) {
                        return member.path.front().text == name;
                      }));
}

/// Whether the name is a `let` or function of the user's file.
bool isDeclaredIn(const Module& module, std::string_view name) {
  const ModuleEntry* entry = module.find(name);
  return entry &&
         (std::holds_alternative<ast::Let>(entry->declaration->node) ||
          std::holds_alternative<ast::FunDecl>(entry->declaration->node));
}

/// Whether the text at `range` is the whole value of the field.
bool isWholeValue(const Slot& slot, SourceRange range) {
  if (slot.chain.empty() || !slot.chain.front().isValue() || !slot.field)
    return false;
  const Definition& definition = slot.chain.front();
  const ast::File& file = *definition.layer->env->file;
  return !definition.member->given &&
         file[definition.member->value].range == range;
}

/// Advice to write a quoted value for a bare word. On the command line, it
/// quotes the whole argument for the shell.
std::string quotedAs(const SourceMap& sources, SourceRange word,
                     const std::string& quoted) {
  std::string plain = "write `" + quoted + "`, in quotation marks";
  if (sources.kind(word.source) != SourceKind::commandLine)
    return plain;
  std::string argument(sources.text(word.source));
  argument.replace(word.begin, word.end - word.begin, quoted);
  if (argument.find('\'') != std::string::npos) // would end the shell's quotes
    return plain;
  return "write `" + std::string(sources.name(word.source)) + " '" + argument +
         "'`";
}

/// Helps with a name of a file that is imported as a whole: `W.base` for
/// `base`.
bool helpWithImported(Evaluator& evaluator, diag::Builder& builder,
                      const ast::Name& name, const Env& env) {
  std::vector<std::string> owners;
  for (auto& [alias, entry] : env.module->entries) {
    const auto* import = std::get_if<ast::Import>(&entry.declaration->node);
    if (!import || import->file.empty() || entry.selected ||
        entry.state == ModuleEntry::State::running)
      continue;
    const Value& value = evaluator.modules.entryValue(*env.module, entry);
    Module* const* module = value.get<Module*>();
    if (module && (*module)->find(name.text))
      owners.emplace_back(alias);
  }
  if (owners.size() != 1)
    return false;
  const std::string path = owners.front() + "." + name.text;
  builder
      .help("write `" + path + "`, as the import calls the file `" +
            owners.front() + "`")
      .fixIt(name.range, path, diag::Applicability::safe);
  return true;
}

/// How to declare a name, by its use: as a parent recipe, a mixin, or a value.
std::string declarationFor(const ast::File& file, const ast::Name& name) {
  auto isAt = [&](ast::ExprId id) {
    return id != ast::ExprId::none &&
           file[id].range.begin <= name.range.begin &&
           name.range.end <= file[id].range.end;
  };
  for (const ast::Declaration& declaration : file.declarations) {
    const auto* recipe = std::get_if<ast::RecipeDecl>(&declaration.node);
    if (!recipe || file.source != name.range.source)
      continue;
    if (isAt(recipe->parent))
      return "abstract recipe " + name.text + " { ... }";
    if (std::any_of(recipe->mixins.begin(), recipe->mixins.end(), isAt))
      return "mixin " + name.text + " { ... }";
  }
  return "let " + name.text + " = ...";
}

} // namespace

Value Lookup::letValue(const ast::Let& let, const Env& env) {
  std::vector<LetValue>& known = env.object->letValues;
  for (LetValue& entry : known) {
    if (entry.let != &let)
      continue;
    if (entry.isRunning)
      evaluator.messages
          .report(diag::Kind::Recursion, let.name.range,
                  "`" + let.name.text + "` depends on itself")
          .help("give it a value that is computed without it");
    return entry.value;
  }
  size_t index = known.size();
  known.push_back({&let, true, poison()});
  Value value = evaluator.evaluate(let.value, env);
  known[index] = {&let, false, value};
  return value;
}

// A field that a record has only through its schema does not appear in the
// text. A parameter, `let` or function further out therefore hides it. A field
// that the same braces set is not hidden.
Binding Lookup::findBinding(std::string_view name, const Env& env) {
  Binding field;
  for (const Env* at = &env; at; at = at->outer) {
    if (Binding declared = declaredAt(*at, name))
      return field && isWrittenAt(*field.env, name) ? field : declared;
    if (field || !at->object || name == at->defined)
      continue;
    field = {at};
    field.slot = at->object->find(name);
  }
  if (!field || isWrittenAt(*field.env, name))
    return field;
  for (const Module* module = env.module; module; module = module->fallback)
    if (isDeclaredIn(*module, name))
      return {};
  return field;
}

std::optional<Value> Lookup::find(std::string_view name, const Env& env) {
  if (Binding binding = findBinding(name, env)) {
    const Env& at = *binding.env;
    if (binding.local)
      return *binding.local;
    if (binding.slot)
      return evaluator.objects.force(*at.object, *binding.slot);
    if (binding.let)
      return letValue(*binding.let, at);
    if (binding.function)
      return Value{&std::as_const(
                       evaluator.store.make<Function>({binding.function, &at})),
                   evaluator.writtenAt(binding.function->name.range)};
    return Value{
        &std::as_const(evaluator.store.make<Block>({binding.block, &at})),
        evaluator.writtenAt(binding.block->name.range)};
  }
  for (Module* module = env.module; module; module = module->fallback)
    if (ModuleEntry* entry = module->find(name))
      return evaluator.modules.entryValue(*module, *entry);
  if (env.inBlock && evaluator.modules.ops())
    if (ModuleEntry* entry = evaluator.modules.ops()->find(name))
      return evaluator.modules.entryValue(*evaluator.modules.ops(), *entry);
  if (evaluator.modules.prelude() && env.module != evaluator.modules.ops())
    if (ModuleEntry* entry = evaluator.modules.prelude()->find(name))
      return evaluator.modules.entryValue(*evaluator.modules.prelude(), *entry);
  if (const BuiltinFunction* function = findBuiltin(name))
    return Value{Builtin{function}, {}};
  for (const Module* module = env.module; module; module = module->fallback)
    for (const std::string& missing : module->missing)
      if (missing == name)
        return poison();
  return std::nullopt;
}

std::vector<std::string> Lookup::visibleNames(const Env& env) {
  std::vector<std::string> names;
  auto addModule = [&](const Module* module) {
    if (module)
      for (const auto& [name, entry] : module->entries)
        names.emplace_back(name);
  };
  for (const Env* at = &env; at; at = at->outer) {
    if (at->locals)
      for (const auto& [name, value] : at->locals->names)
        names.emplace_back(name);
    if (at->object)
      for (const Slot& slot : at->object->slots)
        names.emplace_back(slot.name);
    if (!at->layer)
      continue;
    for (const ast::Let* let : at->layer->lets)
      names.push_back(let->name.text);
    for (const ast::FunDecl* function : at->layer->functions)
      names.push_back(function->name.text);
    for (const ast::BlockDecl* block : at->layer->blocks)
      names.push_back(block->name.text);
  }
  for (Module* module = env.module; module; module = module->fallback)
    addModule(module);
  if (env.inBlock)
    addModule(evaluator.modules.ops());
  addModule(evaluator.modules.prelude());
  for (const BuiltinFunction& function : builtinFunctions())
    names.emplace_back(function.name);
  return names;
}

void Lookup::reportUnknownName(const ast::Name& name, const Env& env) {
  // The search for what was meant is slow.
  if (evaluator.messages.isMuted())
    return;
  if (reportOwnField(evaluator, name, env) || reportVariable(evaluator, name))
    return;
  SourceRange place;
  const auto current = evaluator.objects.current();
  if (current &&
      bareLiteral(evaluator, *current->object, *current->slot, &place) &&
      place.begin <= name.range.begin && name.range.end <= place.end) {
    // Report a value such as `a2a+p2p` once, not once per name.
    auto builder = evaluator.messages.report(
        diag::Kind::UnknownName, place,
        "there is nothing called `" +
            std::string(evaluator.sources.text(place)) + "` here");
    helpWithLiteral(builder, name);
    return;
  }
  auto builder =
      evaluator.messages.report(diag::Kind::UnknownName, name.range,
                                unknownMessage(evaluator.sources, name));
  if (helpWithHfInterpolation(evaluator.sources, builder, name))
    return;
  const bool isWhole = current && isWholeValue(*current->slot, name.range);
  if (isWhole &&
      evaluator.library.helpWithRecord(
          builder, name,
          *evaluator.objects.typeOf(*current->object, *current->slot)))
    return;
  // `AutoTokenizer.from_pretrained("out/base")`
  const bool isDotted =
      evaluator.sources.text(name.range.source).substr(name.range.end, 1) ==
      ".";
  if (isDotted && current &&
      helpWithArgumentAlone(evaluator, builder, name, *current->object,
                            *current->slot))
    return;
  if (current &&
      (helpWithSectionCall(evaluator, builder, name, *current->object,
                           *current->slot) ||
       helpWithTemplate(evaluator, builder, name, *current->object,
                        *current->slot) ||
       helpWithFieldTemplate(builder, name, *current->object, *current->slot)))
    return;
  if (helpWithForeignWord(builder, name) ||
      helpWithInterpolation(evaluator.sources, builder, name) ||
      helpWithImported(evaluator, builder, name, env) ||
      helpWithWord(builder, name) || helpWithSection(builder, name, env))
    return;
  for (const std::string& path : evaluator.loader.standardFiles())
    if (path.ends_with("/" + name.text + ".recipe")) {
      std::string import = path.substr(0, path.rfind('.'));
      std::replace(import.begin(), import.end(), '/', '.');
      std::string alias = evaluator.library.aliasOf(import, *env.module);
      if (alias.empty())
        builder.help("add `import " + import + "`");
      else
        builder.help("it is imported as `" + alias + "`")
            .fixIt(name.range, alias, diag::Applicability::safe);
      return;
    }
  std::optional<LibraryName> library =
      evaluator.library.find(name.text, *env.module, false);
  bool isExact = library && library->text.ends_with("." + name.text);
  if (isExact && helpWithLibrary(builder, name, env))
    return;
  if (helpWithLiteral(builder, name))
    return;
  std::vector<std::string> names = visibleNames(env);
  if (isWhole) // a function is no value
    std::erase_if(names, [](const std::string& each) {
      return findBuiltin(each) != nullptr;
    });
  if (builder.suggest(name.range, name.text, names) ||
      helpWithLibrary(builder, name, env))
    return;
  const bool isCall =
      evaluator.sources.text(name.range.source).substr(name.range.end, 1) ==
      "(";
  if (std::optional<KnownDeclaration> own =
          evaluator.library.knownAs(name.text)) {
    builder
        .help(own->values.empty() ? "that is `" + own->name + "` here"
                                  : own->values + ": write `" + own->name + "`")
        .fixIt(name.range, own->name);
  } else if (isWhole)
    helpWithValue(evaluator, builder, name, *current->object, *current->slot);
  else if ((current &&
            (helpWithArgumentAlone(evaluator, builder, name, *current->object,
                                   *current->slot) ||
             helpWithSchemas(evaluator, builder, name, *current->object,
                             *current->slot))) ||
           helpOutsideModel(builder, env, name))
    return;
  else if (isCall &&
           helpWithNearestName(evaluator, builder, name.text, env.inBlock))
    return;
  else if (isCall)
    builder.help("declare it, `fun " + name.text +
                 "(x: int): int = ...`, or import the file that does");
  else
    builder.help("declare it, `" + declarationFor(*env.file, name) +
                 "`, or import the file that does");
}

/// Helps with a bare word that is the whole value of a field: a literal of the
/// field without quotation marks, or a misspelt one.
bool Lookup::helpWithLiteral(diag::Builder& builder, const ast::Name& name) {
  const std::optional<SlotOf> current = evaluator.objects.current();
  if (!current)
    return false;
  auto [object, slot] = *current;
  SourceRange place;
  auto literal = bareLiteral(evaluator, *object, *slot, &place);
  if (!literal) {
    if (!isWholeValue(*slot, name.range))
      return false;
    const Type* type = evaluator.objects.typeOf(*object, *slot);
    std::vector<std::string> literals;
    for (const Type* member : type->members)
      if (member->kind == Type::Kind::literal)
        literals.push_back(member->literal);
    if (literals.empty())
      return false;
    if (!builder.suggest(name.range, name.text, literals, "\""))
      helpWithType(evaluator, builder, {}, *type, name.range);
    return true;
  }
  std::string quoted = "\"" + *literal + "\"";
  builder.help(quotedAs(evaluator.sources, place, quoted))
      .fixIt(place, quoted, diag::Applicability::safe);
  return true;
}

/// Helps with a bare word as the whole value of a field of choices or records,
/// in the same way as with the word in quotation marks: `precision = bf16`.
bool Lookup::helpWithWord(diag::Builder& builder, const ast::Name& name) {
  const std::optional<SlotOf> current = evaluator.objects.current();
  if (!current || !isWholeValue(*current->slot, name.range) ||
      evaluator.sources.kind(name.range.source) != SourceKind::file)
    return false;
  auto [object, slot] = *current;
  const Type& type = *evaluator.objects.typeOf(*object, *slot);
  // For types with named records, such as devices, another help lists the
  // names.
  if (type.kind == Type::Kind::schema &&
      !evaluator.library.recordsOf(*type.schema).empty())
    return false;
  const auto outer = std::exchange(evaluator.typing, {object, slot});
  const auto correction =
      correctionOf(evaluator, {name.text, {}}, type, name.range,
                   "`" + evaluator.pathOf(*object, slot->name) + "`");
  evaluator.typing = outer;
  if (!correction)
    return false;
  builder.help(correction->help);
  if (!correction->replacement.empty())
    builder.fixIt(name.range, correction->replacement);
  return true;
}

/// Helps with a name that is a field of a section, or another tool's name for
/// one.
bool Lookup::helpWithSection(diag::Builder& builder, const ast::Name& name,
                             const Env& env) {
  bool isInRecipe = false;
  for (const Env* at = &env; at && !isInRecipe; at = at->outer)
    isInRecipe = at->object && evaluator.recipes.loadedSchema() &&
                 at->object->schema == evaluator.recipes.loadedSchema();
  if (!isInRecipe)
    return false;
  std::vector<std::string> sections =
      sectionsWith(evaluator, *evaluator.recipes.loadedSchema(), name.text);
  if (sections.size() == 1 || sections.size() == 2) {
    std::string first = sections.front() + "." + name.text;
    std::string second = sections.back() + "." + name.text;
    bool isOne = first == second;
    builder.help("did you mean `" + first +
                 (isOne ? "`?" : "` or `" + second + "`?"));
    if (isOne)
      builder.fixIt(name.range, first);
    return true;
  }
  auto known =
      fieldKnownAs(evaluator, *evaluator.recipes.loadedSchema(), name.text);
  const std::optional<SlotOf> current = evaluator.objects.current();
  const bool isRecordDue =
      current && isWholeValue(*current->slot, name.range) &&
      evaluator.objects.typeOf(*current->object, *current->slot)->kind ==
          Type::Kind::schema;
  if (isRecordDue)
    return false;
  // `global = batch_size`: `batch_size` is another tool's name for the field
  // being set, so naming that field would not help.
  if (known && current &&
      known->path == evaluator.pathOf(*current->object, current->slot->name))
    return false;
  if (known && known->path.empty() && current &&
      helpWithSchemas(evaluator, builder, name, *current->object,
                      *current->slot))
    return true;
  // `[bf16, fp32]`: another tool's flags as the values of an axis need quotes.
  const std::string quoted = "\"" + name.text + "\"";
  if (known && known->values.find("`" + quoted + "`") != std::string::npos) {
    builder.help(quotedAs(evaluator.sources, name.range, quoted))
        .fixIt(name.range, quoted);
    return true;
  }
  // `alpha = 2 * r` in the braces of `lora`: the path is just `rank` there.
  for (const Env* at = &env; known && at; at = at->outer)
    if (known->owner && at->object && at->object->schema == known->owner)
      known->path = known->declaration->name.text;
  if (known)
    builder.help(helpFor(*known));
  if (known && !known->path.empty())
    builder.fixIt(name.range, known->path, applicabilityOf(*known));
  return known.has_value();
}

/// Suggests `llama.llama3_8b` for `llama3_8b`, with the import that it needs.
bool Lookup::helpWithLibrary(diag::Builder& builder, const ast::Name& name,
                             const Env& env) {
  auto known = evaluator.library.find(name.text, *env.module, false);
  if (!known)
    return false;
  builder.help("write `" + known->text + "`" +
               (known->import.empty() ? ""
                                      : ", with `import " + known->import +
                                            "` at the top of the file"));
  bool isArgument =
      evaluator.sources.kind(name.range.source) == SourceKind::commandLine;
  if (isArgument && known->added)
    return true;
  builder.fixIt(name.range, known->text, diag::Applicability::safe);
  if (known->added)
    builder.fixIt(known->added->range, known->added->replacement,
                  diag::Applicability::safe);
  return true;
}

Value Lookup::valueOf(const ast::Name& name, const Env& env) {
  if (std::optional<Value> value = find(name.text, env))
    return *value;
  if (isPartOfKey(name.range))
    return poison();
  if (name.text == outerName) {
    for (const Env* at = &env; at; at = at->outer)
      if (at->object && at->object->schema) {
        if (Object* container = at->object->container)
          return {container, evaluator.writtenAt(name.range)};
        break;
      }
    if (evaluator.isPartial)
      ++evaluator.missing; // another record may contain this one
    else
      evaluator.messages
          .report(diag::Kind::InvalidValue, name.range,
                  "this record is in no other, so that it has no `outer`")
          .help("read `outer` in a record that a recipe holds, `train { ... }` "
                "say");
    return poison();
  }
  reportUnknownName(name, env);
  return poison();
}

Value Lookup::memberOf(const Value& base, const ast::Name& member,
                       SourceRange range) {
  if (base.isPoison())
    return poison();
  if (Object* const* object = base.get<Object*>()) {
    if (Slot* slot = (*object)->find(member.text))
      return evaluator.objects.force(**object, *slot);
  } else if (Module* const* module = base.get<Module*>()) {
    if (ModuleEntry* entry = (*module)->find(member.text))
      return evaluator.modules.entryValue(**module, *entry);
  } else {
    auto builder =
        evaluator.messages.report(diag::Kind::WrongType, range,
                                  "a value of type `" + typeNameOf(base) +
                                      "` has no `" + member.text + "`");
    // In `hardware.cpu`, `hardware` is the schema and not an imported file. The
    // prelude declares `cpu` itself.
    bool isKnown = base.is<const Schema*>() && evaluator.modules.prelude() &&
                   evaluator.modules.prelude()->find(member.text);
    if (isKnown)
      builder.help("write `" + member.text + "`")
          .fixIt(range, member.text, diag::Applicability::safe);
    else if (helpWithBlockOfModel(builder, base, member.text))
      return poison();
    else if (base.is<Tensor>() && !helpWithForeignWord(builder, member))
      builder.help(evaluator.modules.ops()->find(member.text)
                       ? "ops are called with their tensors: `" + member.text +
                             "(x)`"
                       : "ops are called with their tensors, as in `gelu(x)`; "
                         "`recipec doc std.ops` lists them");
    else if (!base.is<Tensor>())
      helpWithMember(evaluator, builder, base, member, range);
    return poison();
  }
  reportUnknownMember(base, member.text, member.range, false, range);
  return poison();
}

void Lookup::reportUnknownMember(const Value& base, const std::string& member,
                                 SourceRange range, bool isIndex,
                                 SourceRange whole) {
  Module* const* module = base.get<Module*>();
  Object* const* object = base.get<Object*>();
  std::vector<std::string> names;
  if (module)
    for (const auto& [name, entry] : (*module)->entries)
      if (!std::holds_alternative<ast::Import>(entry.declaration->node))
        names.emplace_back(name);
  if (object)
    for (const Slot& slot : (*object)->slots)
      names.emplace_back(slot.name);
  bool isMap = object && !(*object)->schema;
  if (!isIndex && (reportHyphenatedKey(names, isMap, range) ||
                   (object && !isMap && reportBareFile(evaluator, range))))
    return;
  std::string owner = module ? (*module)->path : typeNameOf(base);
  std::string message = isMap ? "this map has no key `" + member + "`"
                              : "`" + owner + "` has no " +
                                    (module ? "`" : "field `") + member + "`";
  auto builder = evaluator.messages.report(diag::Kind::UnknownName, range,
                                           std::move(message));
  if (helpWithBlockOfModel(builder, base, member) ||
      (object && whole.isValid() && isCalled(evaluator.sources, whole) &&
       helpWithMethod(evaluator.sources, builder, member, whole)))
    return;
  if (object && names.empty()) {
    builder.help("it is empty: add `" + member + " = ...` between its braces");
    return;
  }
  if (object && !isMap && !isIndex) {
    auto known = fieldKnownAs(evaluator, *(*object)->schema, member);
    if (known) {
      builder.help(helpFor(*known));
      if (!known->path.empty())
        builder.fixIt(range, known->path, applicabilityOf(*known));
      return;
    }
  }
  const bool isRecord = object && !isMap && !isIndex;
  if (isRecord && !diag::didYouMean(member, names) &&
      evaluator.nearestFields.help(builder, *(*object)->schema, member, false))
    return;
  if (module)
    if (auto elsewhere = evaluator.library.find(member, **module, true);
        elsewhere && elsewhere->text.ends_with("." + member)) {
      builder.help("write `" + elsewhere->text + "`, with `import " +
                   elsewhere->import + "`");
      return;
    }
  builder.suggestOrList(range, member, names,
                        isMap    ? "its keys are "
                        : module ? "its names are "
                                 : "its fields are ",
                        isIndex ? "\"" : "");
}

} // namespace recipec::sema
