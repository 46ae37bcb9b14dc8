// The names of a checkpoint's `config.json`; see HubNames.h.

#include "compiler/sema/names/HubNames.h"

#include "compiler/sema/Evaluator.h"

namespace recipec::sema {

/// The record that a model writes to `config.json`; nullptr if it has none.
static const ast::Body* configOf(const Schema& schema) {
  const Field* field = schema.isModel ? schema.find("hf_config") : nullptr;
  if (!field || field->declaration->defaultValue == ast::ExprId::none)
    return nullptr;
  const ast::File& file = *schema.layer.env->file;
  const auto* record = std::get_if<ast::RecordExpr>(
      &file[field->declaration->defaultValue].node);
  return record ? &file[record->body] : nullptr;
}

bool helpWithHubName(Evaluator& evaluator, diag::Builder& builder,
                     const Schema& schema, const ast::Name& name) {
  const ast::Body* config = configOf(schema);
  const ast::File& file = *schema.layer.env->file;
  for (const ast::Item& item :
       config ? config->items : std::vector<ast::Item>()) {
    const auto* node = std::get_if<ast::Assignment>(&item.node);
    if (!node || node->path.size() != 1 || node->path[0].text != name.text ||
        node->value == ast::ExprId::none)
      continue;
    if (const auto* own = std::get_if<ast::NameRef>(&file[node->value].node);
        own && schema.find(own->name.text)) {
      builder.help("that is `" + own->name.text + "` here")
          .fixIt(name.range, own->name.text, diag::Applicability::safe);
      return true;
    }
    if (!Objects::isConstant(file, node->value))
      return false;
    builder.help("leave it out: `" + name.text + "` of `" +
                 std::string(schema.name) + "` is always `" +
                 std::string(evaluator.sources.text(file[node->value].range)) +
                 "`");
    return true;
  }
  return false;
}

} // namespace recipec::sema
