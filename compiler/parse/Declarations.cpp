// Files and declarations; source ranges of parser contexts.

#include "compiler/parse/Transformer.h"

namespace recipec::parse {

// ---- ranges and nodes

size_t Transformer::firstToken(antlr4::ParserRuleContext* context) const {
  return context->getStart()->getTokenIndex();
}

size_t Transformer::lastToken(antlr4::ParserRuleContext* context) const {
  return context->getStop()->getTokenIndex();
}

SourceRange Transformer::range(antlr4::ParserRuleContext* context) const {
  return cover(tokens->range(firstToken(context)),
               tokens->range(lastToken(context)));
}

ast::Name Transformer::name(Grammar::NameContext* context) {
  SourceRange place = range(context);
  return {std::string(sources.text(place)), place};
}

std::vector<ast::Name> Transformer::path(Grammar::PathContext* context) {
  std::vector<ast::Name> result;
  for (auto* part : context->name())
    result.push_back(name(part));
  return result;
}

ast::TypeId Transformer::makeType(ast::Type type) {
  file.types.push_back(std::move(type));
  return ast::TypeId(file.types.size() - 1);
}

int Transformer::depthOf(ast::ExprId id) const {
  return exprDepths[size_t(id)];
}

// ---- declarations

void Transformer::transform(Grammar::FileContext* context) {
  uint32_t first = tokens->tokens.front().begin;
  file.header = comments.header(first);
  for (auto* part : context->declarations()->declaration())
    if (auto made = declaration(part))
      file.declarations.push_back(std::move(*made));
  file.closing = comments.before(tokens->tokens.back().begin + 1);
}

std::optional<ast::Declaration>
Transformer::declaration(Grammar::DeclarationContext* context) {
  if (context->exception)
    return std::nullopt;
  ast::Declaration result;
  result.range = range(context);
  result.comments = comments.before(result.range.begin);
  if (auto* part = context->importDeclaration()) {
    result.node = import(part);
  } else if (auto* part = context->recipeDeclaration()) {
    result.node = recipe(part);
  } else if (auto* part = context->mixinDeclaration()) {
    result.node = mixin(part);
  } else if (auto* part = context->schemaDeclaration()) {
    ast::Name declared = name(part->name());
    result.node =
        ast::SchemaDecl{declared, body(part->body(), BodyKind::schema)};
  } else if (auto* part = context->modelDeclaration()) {
    ast::Name declared = name(part->name());
    result.node = ast::ModelDecl{declared, body(part->body(), BodyKind::model)};
  } else if (auto* part = context->opDeclaration()) {
    result.node = op(part);
  } else if (auto* part = context->let()) {
    result.node = let(part);
  } else if (auto* part = context->function()) {
    result.node = function(part);
  } else {
    result.node = block(context->block());
  }
  comments.finish(result.comments, result.range.end);
  return result;
}

ast::Import Transformer::import(Grammar::ImportDeclarationContext* context) {
  ast::Import node;
  if (auto* dotted = context->path()) {
    node.path = path(dotted);
    node.targetRange = range(dotted);
  } else {
    size_t token = firstToken(context) + 1;
    node.file = plainString(token, "the path of an import");
    node.targetRange = tokens->range(token);
  }
  if (auto* alias = context->name())
    node.alias = name(alias);
  if (auto* selection = context->selection()) {
    node.selection.emplace();
    for (auto* part : selection->selected())
      node.selection->push_back(selected(part));
  }
  return node;
}

ast::Selected Transformer::selected(Grammar::SelectedContext* context) {
  auto names = context->name();
  ast::Selected node{name(names[0]), std::nullopt};
  if (names.size() > 1)
    node.alias = name(names[1]);
  return node;
}

ast::RecipeDecl
Transformer::recipe(Grammar::RecipeDeclarationContext* context) {
  ast::RecipeDecl node;
  node.isAbstract = context->ABSTRACT() != nullptr;
  node.name = name(context->name());
  auto* parent = context->expression();
  node.parent = parent ? expression(parent) : ast::ExprId::none;
  if (auto* mixins = context->mixins())
    for (auto* part : mixins->expression())
      node.mixins.push_back(expression(part));
  node.body = context->body() ? body(context->body(), BodyKind::recipe)
                              : body(context->headedBody(), BodyKind::recipe);
  return node;
}

ast::MixinDecl Transformer::mixin(Grammar::MixinDeclarationContext* context) {
  ast::MixinDecl node;
  node.name = name(context->name());
  if (auto* declared = context->parameters())
    node.parameters = parameters(declared);
  node.body = body(context->body(), BodyKind::recipe);
  return node;
}

ast::BlockDecl Transformer::op(Grammar::OpDeclarationContext* context) {
  ast::BlockDecl node;
  node.name = name(context->name());
  node.parameters = parameters(context->parameters());
  node.body = ast::BodyId::none;
  if (sources.kind(tokens->source) != SourceKind::standardLibrary)
    engine
        .report(diag::Kind::InvalidItem, node.name.range,
                "only the standard library declares ops")
        .help("write a `block`, which is made of ops");
  return node;
}

} // namespace recipec::parse
