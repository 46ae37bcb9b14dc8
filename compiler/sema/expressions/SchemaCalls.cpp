// Mistakes in the arguments of a call that makes a record; see SchemaCalls.h.
//
// The arguments are judged by what is written, before any is evaluated.

#include "compiler/sema/expressions/SchemaCalls.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <cctype>

namespace recipec::sema {
namespace {

class Arguments {
public:
  Arguments(Evaluator& evaluator, const Schema& schema, const ast::Call& call,
            const Env& env)
      : evaluator(evaluator), schema(schema), call(call), env(env),
        file(*env.file) {
    for (const Field& field : schema.fields)
      if (!field.declaration->isFixed)
        fields.push_back(field.declaration);
    for (const ast::Argument& argument : call.arguments)
      if (!argument.name)
        positional.push_back(argument.value);
  }

  bool run() const {
    return !positional.empty() && !fields.empty() &&
           (isMap() || arePairs() || areWeightsFirst() || areFiles() ||
            areRecords() || areTooMany());
  }

private:
  std::string textOf(ast::ExprId id) const {
    return std::string(evaluator.sources.text(file[id].range));
  }
  bool isNumber(ast::ExprId id) const {
    return std::holds_alternative<ast::FloatLiteral>(file[id].node) ||
           std::holds_alternative<ast::IntLiteral>(file[id].node);
  }
  const ast::ListExpr* listOf(ast::ExprId id) const {
    return std::get_if<ast::ListExpr>(&file[id].node);
  }
  const Type& typeOf(const ast::FieldDecl& field) const {
    return *evaluator.types.resolve(*schema.layer.env, field.type);
  }
  static bool isListOf(const Type& type, Type::Kind element) {
    auto isList = [&](const Type& each) {
      return each.kind == Type::Kind::list && each.element->kind == element;
    };
    return isList(type) ||
           std::any_of(type.members.begin(), type.members.end(),
                       [&](const Type* each) { return isList(*each); });
  }
  /// Whether the first field takes a list of records.
  bool holdsRecords() const {
    const Type& first = typeOf(*fields.front());
    return first.kind == Type::Kind::list &&
           (first.element->kind == Type::Kind::schema ||
            std::any_of(first.element->members.begin(),
                        first.element->members.end(), [](const Type* each) {
                          return each->kind == Type::Kind::schema;
                        }));
  }
  /// The field that takes one number per record; empty if there is none.
  std::string numbersField() const {
    for (const ast::FieldDecl* field : fields)
      if (isListOf(typeOf(*field), Type::Kind::real))
        return field->name.text;
    return {};
  }

  SourceRange place() const {
    return cover(file[positional.front()].range, file[positional.back()].range);
  }
  bool report(std::string message, const std::string& own) const {
    auto builder = evaluator.messages.report(diag::Kind::WrongType, place(),
                                             std::move(message));
    if (own.find('\n') == own.npos)
      builder
          .help("write `" + std::string(schema.shownName()) + "(" + own + ")`")
          .fixIt(place(), own);
    return true;
  }

  /// `blend([a, 0.7], [b, 0.3])`, `blend([0.7, a], [0.3, b])`
  bool arePairs() const {
    const std::string numbers = numbersField();
    if (!holdsRecords() || numbers.empty())
      return false;
    std::string records, weights;
    // `blend([[a, 0.7], [b, 0.3]])` has one list around the pairs.
    std::vector<ast::ExprId> pairs = positional;
    if (const ast::ListExpr* all =
            positional.size() == 1 ? listOf(positional[0]) : nullptr)
      pairs = all->elements;
    for (ast::ExprId id : pairs) {
      const ast::ListExpr* pair = listOf(id);
      if (!pair || pair->elements.size() != 2 ||
          isNumber(pair->elements[0]) == isNumber(pair->elements[1]))
        return false;
      const bool isFirst = isNumber(pair->elements[0]);
      records +=
          (records.empty() ? "" : ", ") + textOf(pair->elements[isFirst]);
      weights +=
          (weights.empty() ? "" : ", ") + textOf(pair->elements[!isFirst]);
    }
    return !pairs.empty() &&
           report("`" + fields.front()->name.text + "` and `" + numbers +
                      "` of `" + std::string(schema.shownName()) +
                      "` are a list each, and these are pairs",
                  "[" + records + "], " + numbers + " = [" + weights + "]");
  }

  /// `blend([0.7, 0.3], [a, b])`
  bool areWeightsFirst() const {
    const std::string numbers = numbersField();
    if (!holdsRecords() || numbers.empty() || positional.size() != 2)
      return false;
    const ast::ListExpr* first = listOf(positional[0]);
    const ast::ListExpr* second = listOf(positional[1]);
    auto isNumeric = [&](ast::ExprId id) { return isNumber(id); };
    if (!first || !second || first->elements.empty() ||
        !std::all_of(first->elements.begin(), first->elements.end(),
                     isNumeric) ||
        std::any_of(second->elements.begin(), second->elements.end(),
                    isNumeric))
      return false;
    return report("`" + std::string(schema.shownName()) + "` takes `" +
                      fields.front()->name.text + "` before `" + numbers +
                      "`, and these are the other way round",
                  textOf(positional[1]) + ", " + numbers + " = " +
                      textOf(positional[0]));
  }

  /// The file extension in a string: `txt`.
  std::string suffixOf(ast::ExprId id) const {
    const std::string text = textOf(id);
    const size_t dot = text.rfind('.');
    const bool isText =
        std::holds_alternative<ast::StringLiteral>(file[id].node);
    return isText && dot != text.npos ? text.substr(dot) : std::string();
  }

  /// `text("a.txt", "b.txt")`, where the first field takes a list of files
  bool areFiles() const {
    if (positional.size() < 2 ||
        !isListOf(typeOf(*fields.front()), Type::Kind::string))
      return false;
    const std::string suffix = suffixOf(positional[0]);
    std::string list;
    for (ast::ExprId id : positional) {
      if (suffix.empty() || suffixOf(id) != suffix)
        return false;
      list += (list.empty() ? "" : ", ") + textOf(id);
    }
    return report("`" + fields.front()->name.text + "` of `" +
                      std::string(schema.shownName()) +
                      "` is one argument, and these are " +
                      std::to_string(positional.size()) + " files",
                  "[" + list + "]");
  }

  /// `blend(a, b, weights = [0.7, 0.3])`, where the first field takes a list of
  /// records
  bool areRecords() const {
    auto isCall = [&](ast::ExprId id) {
      return std::holds_alternative<ast::Call>(file[id].node);
    };
    if (positional.size() < 2 || !holdsRecords() ||
        !std::all_of(positional.begin(), positional.end(), isCall))
      return false;
    std::string list, named;
    for (const ast::Argument& argument : call.arguments)
      if (argument.name)
        named += ", " + argument.name->text + " = " + textOf(argument.value);
      else
        list += (list.empty() ? "" : ", ") + textOf(argument.value);
    const SourceRange all =
        cover(place(), file[call.arguments.back().value].range);
    const std::string own = "[" + list + "]" + named;
    auto builder = evaluator.messages.report(
        diag::Kind::WrongType, place(),
        "`" + fields.front()->name.text + "` of `" +
            std::string(schema.shownName()) + "` is one list, and these are " +
            std::to_string(positional.size()) + " arguments");
    if (own.find('\n') == own.npos && !call.arguments.front().name)
      builder
          .help("write `" + std::string(schema.shownName()) + "(" + own + ")`")
          .fixIt(all, own);
    return true;
  }

  /// `llama.llama(config)`, where `config` is a map such as an imported file
  bool isMap() const {
    const auto& node = file[positional[0]].node;
    const bool isName = std::holds_alternative<ast::NameRef>(node) ||
                        std::holds_alternative<ast::Member>(node);
    if (positional.size() != 1 || !isName || fields.size() < 2)
      return false;
    const Type::Kind first = typeOf(*fields.front()).kind;
    const Value value = evaluator.evaluate(positional[0], env);
    Object* const* map = value.get<Object*>();
    if (!map || (*map)->schema || first == Type::Kind::map ||
        first == Type::Kind::any || first == Type::Kind::schema ||
        first == Type::Kind::unionOf)
      return false;
    const std::string written = textOf(positional[0]);
    std::string given;
    for (const ast::FieldDecl* field : fields)
      if (const std::string key = keyOf(**map, *field); !key.empty())
        given += (given.empty() ? "" : ", ") + field->name.text + " = " +
                 written + "." + key;
    const std::string callee = textOf(call.callee);
    evaluator.messages
        .report(diag::Kind::WrongType, place(),
                "`" + callee + "` has " + std::to_string(fields.size()) +
                    " fields, and does not take the map `" + written +
                    "` for them")
        .help("set the fields by their names: `" + callee + " { " +
              (given.empty() ? fields.front()->name.text + " = ..." : given) +
              " }`");
    return true;
  }
  /// The key of a map that names the field, here or in another tool.
  std::string keyOf(Object& map, const ast::FieldDecl& field) const {
    if (map.find(field.name.text))
      return field.name.text;
    const ast::Comments* comments = commentsOf(schema, field.name.text);
    for (const ListedName& other :
         comments ? namesListedIn(*comments) : std::vector<ListedName>())
      if (other.remark.empty() && map.find(other.name))
        return other.name;
    return {};
  }

  static std::string lowered(std::string sentence) {
    sentence[0] = char(std::tolower(static_cast<unsigned char>(sentence[0])));
    return sentence;
  }

  bool areTooMany() const {
    if (positional.size() <= fields.size())
      return false;
    std::vector<std::string> names;
    std::string named;
    for (const ast::FieldDecl* field : fields) {
      names.push_back(field->name.text);
      named += (named.empty() ? "" : ", ") + field->name.text + " = ...";
    }
    constexpr size_t mostNamed = 5;
    auto builder = evaluator.messages.report(
        diag::Kind::UnknownArgument, place(),
        "`" + std::string(schema.shownName()) + "` has " +
            std::to_string(fields.size()) +
            (fields.size() == 1 ? " field, " : " fields, ") +
            diag::quotedList(names, mostNamed) + ", and these are " +
            std::to_string(positional.size()) + " arguments");
    builder.label(file[positional[fields.size()]].range, "");
    if (fields.size() == 1) {
      const std::string summary = summaryOf(schema, names.front());
      builder.help("write one: `" + std::string(schema.shownName()) + "(" +
                   named + ")`" +
                   (summary.empty() ? "" : "; " + lowered(summary)));
      return true;
    }
    builder.help(names.size() <= mostNamed
                     ? "give each by its name: `" +
                           std::string(schema.shownName()) + "(" + named + ")`"
                     : "give each by its name, and remove what is too much");
    return true;
  }

  Evaluator& evaluator;
  const Schema& schema;
  const ast::Call& call;
  const Env& env;
  const ast::File& file;
  std::vector<const ast::FieldDecl*> fields;
  std::vector<ast::ExprId> positional;
};

} // namespace

bool reportArguments(Evaluator& evaluator, const Schema& schema,
                     const ast::Call& call, const Env& env) {
  return Arguments(evaluator, schema, call, env).run();
}

} // namespace recipec::sema
