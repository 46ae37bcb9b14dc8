// Values in place of a section; see SectionValues.h.

#include "compiler/sema/types/SectionValues.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>

namespace recipec::sema {

std::optional<Suggestion> sectionOfOtherTools(Evaluator& evaluator,
                                              const Value& value,
                                              const Schema& schema,
                                              const std::string& section,
                                              const std::string& written) {
  const std::string* text = value.get<std::string>();
  auto suggest = [&](const Field& field, const std::string& own) {
    const bool isSetting = own.find(" = ") != own.npos;
    return Suggestion{
        "write `" + section + " { " +
            (isSetting ? own : field.declaration->name.text + " = " + own) +
            " }`",
        ""};
  };
  for (const Field& field : schema.fields) {
    const ast::Comments* comments =
        commentsOf(schema, field.declaration->name.text);
    const bool isMeant = text || &field == &schema.fields.front();
    if (!comments || field.declaration->isFixed || !isMeant)
      continue;
    if (text && isSameName(field.declaration->name.text, *text))
      return Suggestion{"`" + field.declaration->name.text +
                            "` is a field of it: write `" + section + " { " +
                            field.declaration->name.text + " = ... }`",
                        ""};
    if (auto own = valueListedAs(*comments, written))
      return suggest(field, *own);
    const Type& type =
        *evaluator.types.resolve(*schema.layer.env, field.declaration->type);
    if (text && type.kind == Type::Kind::schema)
      for (const std::string& record :
           evaluator.library.recordsOf(*type.schema))
        if (isSameName(record, *text))
          return suggest(field, record);
    const auto remark = text ? listedAs(*comments, *text) : std::nullopt;
    if (!remark)
      continue;
    const bool isDerived = std::any_of(
        type.members.begin(), type.members.end(), [](const Type* member) {
          return member->kind == Type::Kind::automatic;
        });
    if (remark->empty() && !isDerived)
      return Suggestion{"that is `" + section + "." +
                            field.declaration->name.text + "` here: write `" +
                            section + " { " + field.declaration->name.text +
                            " = ... }`",
                        ""};
    constexpr std::string_view start = "it is `";
    const size_t at = remark->find(start);
    if (at != remark->npos)
      return suggest(field,
                     remark->substr(at + start.size(),
                                    remark->find('`', at + start.size()) - at -
                                        start.size()));
    if (isDerived)
      return Suggestion{
          "that is `" + section + "." + field.declaration->name.text +
              "` here, which is derived: leave `" + section + "` out",
          ""};
  }
  return std::nullopt;
}

std::string othersAskedFor(const Schema& schema, const Field& given) {
  std::string text;
  for (const Field& field : schema.fields)
    if (&field != &given && !field.declaration->isFixed &&
        field.declaration->defaultValue == ast::ExprId::none)
      text += ", " + field.declaration->name.text + " = ...";
  return text;
}

} // namespace recipec::sema
