// Finds the sections of a recipe that have a field; see Sections.h.

#include "compiler/sema/names/Sections.h"

namespace recipec::sema {

std::vector<std::string> sectionsWith(Evaluator& evaluator,
                                      const Schema& schema,
                                      std::string_view name) {
  std::vector<std::string> sections;
  for (const Field& field : schema.fields) {
    const Type* type =
        evaluator.types.resolve(*schema.layer.env, field.declaration->type);
    if (type->kind == Type::Kind::schema && type->schema->find(name))
      sections.push_back(field.declaration->name.text);
  }
  return sections;
}

std::string joinSections(const std::vector<std::string>& sections) {
  std::string text;
  for (size_t i = 0; i < sections.size(); ++i) {
    if (i > 0)
      text += i + 1 == sections.size() ? " and " : ", ";
    text += "`" + sections[i] + "`";
  }
  return text;
}

} // namespace recipec::sema
