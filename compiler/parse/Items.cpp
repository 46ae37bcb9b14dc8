// Bodies and their items.

#include "compiler/parse/Transformer.h"

#include <algorithm>

namespace recipec::parse {

// ---- bodies

ast::BodyId Transformer::body(Grammar::BodyContext* context, BodyKind kind) {
  return bodyOf(range(context), context->items(), kind);
}

ast::BodyId Transformer::body(Grammar::HeadedBodyContext* context,
                              BodyKind kind) {
  return bodyOf(range(context), context->items(), kind);
}

ast::BodyId Transformer::bodyOf(SourceRange range,
                                Grammar::ItemsContext* context, BodyKind kind) {
  ast::Body result;
  result.range = range;
  result.oneLine = sources.text(range).find('\n') == std::string_view::npos;
  size_t exprsBefore = exprDepths.size();
  for (auto* part : context->item())
    if (auto made = item(part, kind))
      result.items.push_back(std::move(*made));
  bool isOfFile = interpolationDepth == 0;
  if (isOfFile)
    result.closing = comments.before(range.end - 1);
  auto begin = exprDepths.begin() + ptrdiff_t(exprsBefore);
  int depth = begin == exprDepths.end()
                  ? 0
                  : *std::max_element(begin, exprDepths.end());
  return makeBody(std::move(result), depth);
}

ast::BodyId Transformer::makeBody(ast::Body body, int depth) {
  file.bodies.push_back(std::move(body));
  bodyDepths.push_back(depth);
  return ast::BodyId(file.bodies.size() - 1);
}

// ---- items

/// The kind of the bodies of `for` and `if`, given the kind of the enclosing
/// body.
static BodyKind innerKind(BodyKind kind) {
  return kind == BodyKind::settings ? BodyKind::entries : kind;
}

std::optional<ast::Item> Transformer::item(Grammar::ItemContext* context,
                                           BodyKind kind) {
  if (context->exception)
    return std::nullopt;
  ast::Item result;
  result.range = range(context);
  bool isOfFile = interpolationDepth == 0;
  if (isOfFile)
    result.comments = comments.before(result.range.begin);

  if (auto* part = context->setting()) {
    if (!setting(part, result))
      return std::nullopt;
  } else if (auto* part = context->entry()) {
    auto parts = part->expression();
    ast::ExprId key = expression(parts[0]);
    result.node = ast::Entry{key, expression(parts[1])};
  } else if (auto* part = context->fixedField()) {
    result.node = fixedField(part);
  } else if (auto* part = context->require()) {
    result.node = require(part);
  } else if (auto* part = context->let()) {
    result.node = let(part);
  } else if (auto* part = context->function()) {
    result.node = function(part);
  } else if (auto* part = context->block()) {
    result.node = block(part);
  } else if (auto* part = context->forStatement()) {
    result.node = forStatement(part, innerKind(kind));
  } else if (auto* part = context->ifStatement()) {
    result.node = ifStatement(part, innerKind(kind));
  } else {
    auto* value = context->returnStatement()->expression();
    result.node = ast::Return{expression(value)};
  }

  if (isOfFile)
    comments.finish(result.comments, result.range.end);
  if (!checkPlacement(result, kind))
    return std::nullopt;
  return result;
}

bool Transformer::setting(Grammar::SettingContext* context, ast::Item& result) {
  std::vector<ast::Name> names = path(context->path());
  auto* value = context->expression();
  if (!context->COLON()) {
    ast::Assignment node{std::move(names), ast::ExprId::none,
                         ast::BodyId::none};
    if (value)
      node.value = expression(value);
    else
      node.body = body(context->body(), BodyKind::settings);
    result.node = std::move(node);
    return true;
  }
  if (names.size() > 1) {
    engine
        .report(diag::Kind::InvalidItem, range(context->path()),
                "the name of a field has no dots")
        .help("write `" + names.back().text +
              " : ...` in a schema of its own; a value is set with `=`");
    return false;
  }
  ast::FieldDecl node;
  node.name = names[0];
  node.type = type(context->type());
  node.defaultValue = value ? expression(value) : ast::ExprId::none;
  result.node = std::move(node);
  return true;
}

ast::FieldDecl Transformer::fixedField(Grammar::FixedFieldContext* context) {
  ast::FieldDecl node;
  node.isFixed = true;
  node.name = name(context->name());
  node.type = type(context->type());
  auto* value = context->expression();
  node.defaultValue = value ? expression(value) : ast::ExprId::none;
  return node;
}

ast::Require Transformer::require(Grammar::RequireContext* context) {
  auto parts = context->expression();
  ast::Require node{expression(parts[0]), ast::ExprId::none};
  if (parts.size() > 1)
    node.message = expression(parts[1]);
  return node;
}

ast::Let Transformer::let(Grammar::LetContext* context) {
  return {name(context->name()), expression(context->expression())};
}

ast::FunDecl Transformer::function(Grammar::FunctionContext* context) {
  ast::FunDecl node;
  node.name = name(context->name());
  node.parameters = parameters(context->parameters());
  node.result = context->type() ? type(context->type()) : ast::TypeId::none;
  auto* value = context->expression();
  node.value = value ? expression(value) : ast::ExprId::none;
  node.body =
      value ? ast::BodyId::none : body(context->body(), BodyKind::function);
  if (!value)
    checkReturn(node, range(context));
  return node;
}

/// Checks that a function with a body ends in its only `return`. If the parser
/// has rejected an item, that item may have been meant as the value.
void Transformer::checkReturn(const ast::FunDecl& node, SourceRange whole) {
  const std::vector<diag::Diagnostic>& known = engine.all();
  const bool isBroken = std::any_of(
      known.begin(), known.end(), [&](const diag::Diagnostic& each) {
        return each.range.source == whole.source &&
               each.range.begin >= whole.begin && each.range.begin < whole.end;
      });
  if (isBroken)
    return;
  const ast::Body& body = file[node.body];
  size_t count = body.items.size();
  for (size_t i = 0; i < count; ++i) {
    bool isReturn = std::holds_alternative<ast::Return>(body.items[i].node);
    if (isReturn && i + 1 == count)
      return;
    if (isReturn && tokens->doubtful.empty()) {
      engine
          .report(diag::Kind::InvalidItem, body.items[i + 1].range,
                  "nothing can follow the `return` of a function")
          .help("choose a value with `if condition then a else b`");
      return;
    }
  }
  if (tokens->doubtful.empty())
    engine
        .report(diag::Kind::InvalidItem, node.name.range,
                "the function `" + node.name.text + "` returns nothing")
        .help("end its body with `return value`");
}

ast::BlockDecl Transformer::block(Grammar::BlockContext* context) {
  ast::BlockDecl node;
  node.name = name(context->name());
  node.parameters = parameters(context->parameters());
  node.body = body(context->body(), BodyKind::block);
  return node;
}

std::vector<ast::Name>
Transformer::names(const std::vector<Grammar::NameContext*>& contexts) {
  std::vector<ast::Name> result;
  for (auto* part : contexts)
    result.push_back(name(part));
  return result;
}

ast::For Transformer::forStatement(Grammar::ForStatementContext* context,
                                   BodyKind kind) {
  ast::For node;
  node.variables = names(context->name());
  node.source = expression(context->expression());
  node.body = body(context->headedBody(), kind);
  return node;
}

ast::If Transformer::ifStatement(Grammar::IfStatementContext* context,
                                 BodyKind kind) {
  ast::If node;
  node.condition = expression(context->expression());
  node.thenBody = body(context->headedBody(), kind);
  node.elseBody = ast::BodyId::none;
  if (auto* otherwise = context->body()) {
    node.elseBody = body(otherwise, kind);
  } else if (auto* nested = context->ifStatement()) {
    // `else if` is an `else` with a body of one statement.
    ast::Item inner;
    inner.range = range(nested);
    inner.node = ifStatement(nested, kind);
    ast::Body wrapper;
    wrapper.range = inner.range;
    wrapper.items.push_back(std::move(inner));
    node.elseBody = makeBody(std::move(wrapper), 0);
  }
  return node;
}

std::vector<ast::Parameter>
Transformer::parameters(Grammar::ParametersContext* context) {
  std::vector<ast::Parameter> result;
  for (auto* part : context->parameter()) {
    ast::Parameter parameter;
    parameter.name = name(part->name());
    parameter.type = part->type() ? type(part->type()) : ast::TypeId::none;
    parameter.defaultValue =
        part->expression() ? expression(part->expression()) : ast::ExprId::none;
    result.push_back(std::move(parameter));
  }
  return result;
}

// ---- which items a body may hold

namespace {

std::string_view bodyName(BodyKind kind) {
  switch (kind) {
  case BodyKind::recipe:
    return "a recipe";
  case BodyKind::settings:
  case BodyKind::entries:
    return "settings";
  case BodyKind::schema:
    return "a schema";
  case BodyKind::model:
    return "a model";
  case BodyKind::block:
    return "a block";
  case BodyKind::function:
    return "a function";
  }
  return {};
}

/// Why an item cannot appear in a body of this kind; empty if it can.
struct Placement {
  const SourceMap& sources;
  const ast::File& file;
  BodyKind kind;
  std::string message = {};
  std::string help = {};
  SourceRange fix = {}; // the range that `replacement` replaces
  std::string replacement = {};

  bool isDeclaring() const {
    return kind == BodyKind::schema || kind == BodyKind::model;
  }
  void refuse(std::string why, std::string instead) {
    message = std::move(why);
    help = std::move(instead);
  }
  /// `for` and `if` are only allowed in blocks, and around entries of maps.
  void onlyAroundStatements(std::string_view word) {
    bool isAround = kind == BodyKind::block || kind == BodyKind::settings ||
                    kind == BodyKind::entries;
    if (!isAround)
      refuse("`" + std::string(word) + "` is a statement of a block, not of " +
                 std::string(bodyName(kind)),
             "choose a value with `if condition then a else b`, build a list "
             "with `[x for x in xs]`");
  }
  void onlyInSettings(std::string_view what) {
    if (kind == BodyKind::function)
      refuse(std::string(what) + " does not belong into a function",
             "a function holds `let`s and ends in `return value`");
    else if (kind == BodyKind::entries)
      refuse(std::string(what) + " cannot be repeated",
             "only settings and `let`s stand in `for` and `if`");
  }

  std::string valueOf(const ast::Assignment& node) const {
    if (node.value == ast::ExprId::none)
      return "value";
    std::string text(sources.text(file[node.value].range));
    return text.find('\n') == text.npos ? text : "value";
  }
  /// The type of a literal. In a model, any other value is a size, computed
  /// from dimensions; in a schema, it gets the type `any`.
  std::string typeOf(const ast::Assignment& node) const {
    const std::string text = valueOf(node);
    if (text[0] == '"')
      return "string";
    if (text == "true" || text == "false")
      return "bool";
    static constexpr std::string_view types[] = {
        "int",   "float",  "bool",   "string", "bytes", "duration",
        "steps", "epochs", "tokens", "any",    "dim"};
    if (std::count(std::begin(types), std::end(types), text) > 0)
      return text;
    if (text.find_first_not_of("0123456789_") == text.npos)
      return "int";
    if (text.find_first_not_of("0123456789_.eE-") == text.npos)
      return "float";
    const bool isArithmetic = text.find_first_of("+*/-(") != text.npos ||
                              text.empty() ||
                              text.find_first_of("[{\". ") == text.npos;
    return kind == BodyKind::model && isArithmetic && text != "value" ? "dim"
                                                                      : "any";
  }
  void operator()(const ast::Assignment& node) {
    const std::string& name = node.path[0].text;
    if (isDeclaring())
      refuse("`" + name + "` is set, but " + std::string(bodyName(kind)) +
                 " declares fields",
             "declare it with its type: `" + name + " : " + typeOf(node) +
                 (typeOf(node) == valueOf(node) ? std::string()
                                                : " = " + valueOf(node)) +
                 "`");
    if (kind == BodyKind::function)
      refuse("`" + name + "` is set, but a function names values",
             "write `let " + name + " = " + valueOf(node) + "`");
    bool isBinding = node.path.size() == 1 && node.value != ast::ExprId::none;
    if (kind == BodyKind::block && !isBinding)
      refuse("a block binds plain names to values",
             "write `" + name + " = value`");
  }
  /// The intended value: in `tp : 4` the parser read the 4 as a type.
  std::string value(const ast::FieldDecl& node) const {
    const ast::Type& type = file[node.type];
    bool isLiteral = std::holds_alternative<ast::IntType>(type.node) ||
                     std::holds_alternative<ast::StringType>(type.node);
    return isLiteral ? std::string(sources.text(type.range)) : "value";
  }
  void operator()(const ast::Entry&) {
    if (kind != BodyKind::settings && kind != BodyKind::entries)
      refuse("`[key] = value` is an entry of a map, not of " +
                 std::string(bodyName(kind)),
             "write the name of a field before `=`");
  }
  void operator()(const ast::FieldDecl& node) {
    if (isDeclaring())
      return;
    const std::string& name = node.name.text;
    if (node.defaultValue != ast::ExprId::none) {
      const std::string value(sources.text(file[node.defaultValue].range));
      const std::string type(sources.text(file[node.type].range));
      refuse("`" + name + " : " + type +
                 "` declares a field, which schemas and models do",
             "leave out the type: write `" +
                 std::string(kind == BodyKind::function ? "let " : "") + name +
                 " = " + value + "`");
      fix = {node.name.range.source, node.name.range.end,
             assignBehind(file[node.type].range.end)};
      replacement = " ";
      return;
    }
    refuse("`" + name + " :` declares a field, which schemas and models do",
           "set a value with `=`: `" + name + " = " + value(node) + "`");
    if (value(node) == "value")
      return;
    std::string_view text = sources.text(node.name.range.source);
    uint32_t colon = uint32_t(text.find(':', node.name.range.end));
    fix = {node.name.range.source, colon, colon + 1};
    replacement = colon == node.name.range.end ? " =" : "=";
  }
  /// Where the `=` behind a type stands.
  uint32_t assignBehind(uint32_t end) const {
    return uint32_t(sources.text(file.source).find('=', end));
  }
  void operator()(const ast::Require&) {
    if (kind == BodyKind::block)
      refuse("`require` ties the fields of schemas, models and recipes; a "
             "block has none",
             "put it beside the fields of the model");
    onlyInSettings("`require`");
  }
  void operator()(const ast::BlockDecl& node) {
    if (kind != BodyKind::model)
      refuse("the block `" + node.name.text + "` does not belong into " +
                 std::string(bodyName(kind)),
             "declare blocks in a model or a file");
  }
  void operator()(const ast::FunDecl& node) {
    if (kind == BodyKind::block)
      refuse("the function `" + node.name.text +
                 "` does not belong into a block",
             "declare functions in a model or a file");
    onlyInSettings("the function `" + node.name.text + "`");
  }
  /// The only assignment in a body, if it is on one line: its path and value.
  std::pair<std::string, std::string> onlySetting(ast::BodyId body) const {
    const std::vector<ast::Item>& items = file[body].items;
    const auto* node = items.size() == 1
                           ? std::get_if<ast::Assignment>(&items[0].node)
                           : nullptr;
    // `batch { micro = 4 }`
    if (node && node->value == ast::ExprId::none &&
        node->body != ast::BodyId::none) {
      auto [path, value] = onlySetting(node->body);
      if (path.empty())
        return {};
      for (size_t i = node->path.size(); i > 0; --i)
        path = node->path[i - 1].text + "." + path;
      return {path, value};
    }
    if (!node || node->value == ast::ExprId::none || valueOf(*node) == "value")
      return {};
    std::string path;
    for (const ast::Name& part : node->path)
      path += (path.empty() ? "" : ".") + part.text;
    return {path, valueOf(*node)};
  }
  void operator()(const ast::For& node) {
    onlyAroundStatements("for");
    const auto [path, value] = onlySetting(node.body);
    const std::string list(sources.text(file[node.source].range));
    if (kind == BodyKind::recipe && !path.empty() &&
        node.variables.size() == 1 && value == node.variables[0].text &&
        list.find('\n') == list.npos)
      help = "a sweep makes a recipe of each value: write `sweep { " + path +
             " = " + list + " }`";
  }
  /// The value of a body that is a single `return`, if it is on one line.
  std::string onlyResult(ast::BodyId body) const {
    const std::vector<ast::Item>& items = file[body].items;
    const auto* node =
        items.size() == 1 ? std::get_if<ast::Return>(&items[0].node) : nullptr;
    const std::string value(node ? sources.text(file[node->value].range)
                                 : std::string_view());
    return value.find('\n') == value.npos ? value : std::string();
  }
  void operator()(const ast::If& node) {
    onlyAroundStatements("if");
    if (const std::string result = onlyResult(node.thenBody);
        kind == BodyKind::function && !result.empty()) {
      const std::string other =
          node.elseBody == ast::BodyId::none ? "" : onlyResult(node.elseBody);
      help = "write `return if " +
             std::string(sources.text(file[node.condition].range)) + " then " +
             result + " else " + (other.empty() ? "..." : other) + "`";
      return;
    }
    const auto [path, value] = onlySetting(node.thenBody);
    const auto [other, otherwise] = node.elseBody == ast::BodyId::none
                                        ? std::pair<std::string, std::string>()
                                        : onlySetting(node.elseBody);
    if (kind == BodyKind::recipe && !path.empty() &&
        (other == path || node.elseBody == ast::BodyId::none))
      help = "choose a value: write `" + path + " = if " +
             std::string(sources.text(file[node.condition].range)) + " then " +
             value + " else " + (otherwise.empty() ? "..." : otherwise) + "`";
  }
  void operator()(const ast::Return&) {
    if (kind != BodyKind::block && kind != BodyKind::function)
      refuse("`return` is a statement of a block, not of " +
                 std::string(bodyName(kind)),
             "give a field its value with `=`");
  }
  void operator()(const ast::Let&) {}
};

} // namespace

/// Whether the parser has already reported an error on the line. A misplaced
/// item there would only be a consequence.
bool Transformer::hasErrorOnLine(uint32_t offset) const {
  auto lineOf = [&](uint32_t at) {
    return sources.lineColumn(tokens->source, at).line;
  };
  const int line = lineOf(offset);
  return std::any_of(engine.all().begin(), engine.all().end(),
                     [&](const diag::Diagnostic& each) {
                       return each.range.source == tokens->source &&
                              each.kind == diag::Kind::ExpectedToken &&
                              lineOf(each.range.begin) == line;
                     });
}

bool Transformer::checkPlacement(const ast::Item& item, BodyKind kind) {
  Placement placement{sources, file, kind};
  std::visit(placement, item.node);
  if (placement.message.empty())
    return true;
  // Misplaced brackets may move an item into the wrong body.
  if (!tokens->doubtful.empty() ||
      isBelowBrokenHead(sources, tokens->source, item.range.begin, engine) ||
      hasErrorOnLine(item.range.begin))
    return false;
  // The head of the item identifies it, so the range leaves out its body.
  SourceRange place = item.range;
  std::string_view text = sources.text(place);
  if (size_t brace = text.find('{'); brace != std::string_view::npos)
    place.end = place.begin + uint32_t(brace);
  auto report =
      engine.report(diag::Kind::InvalidItem, place, placement.message);
  report.help(placement.help);
  if (placement.fix.isValid())
    report.fixIt(placement.fix, placement.replacement,
                 diag::Applicability::safe);
  return false;
}

} // namespace recipec::parse
