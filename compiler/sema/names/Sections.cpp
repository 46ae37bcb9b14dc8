// Finds the sections of a recipe that have a field; see Sections.h.

#include "compiler/sema/names/Sections.h"

#include "compiler/sema/types/Examples.h"

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

std::string inSections(const std::vector<std::string>& sections,
                       const std::string& name, const std::string& value) {
  std::vector<std::string> texts;
  for (const std::string& section : sections)
    texts.push_back(section + " { " + name + " = " + value + " }");
  return joinAlternatives(texts);
}

std::string taskOf(Evaluator& evaluator) {
  Slot* task = evaluator.root ? evaluator.root->find("task") : nullptr;
  if (!task || task->state == Slot::State::running)
    return {};
  Messages::Muted muted(evaluator.messages);
  const Value value = evaluator.objects.force(*evaluator.root, *task);
  const std::string* name = value.get<std::string>();
  return name ? *name : std::string();
}

bool answersPrompts(std::string_view task) {
  return task == "serve" || task == "generate";
}

} // namespace recipec::sema
