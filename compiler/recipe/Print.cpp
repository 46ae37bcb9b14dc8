// Prints a Recipe.
//
// Settings are nested blocks with one field a line and the origins in one
// column. The dataflow is the dimensions with their sizes, then one call a
// line.

#include "compiler/recipe/Print.h"

#include "compiler/recipe/Format.h"

#include <algorithm>

namespace recipec::recipe {
namespace {

constexpr size_t originColumn = 48;

class Printer {
public:
  Printer(const Recipe& recipe, const SourceMap& sources)
      : recipe(recipe), sources(sources) {}

  std::string settings() {
    text = "recipe " + recipe.name + " {\n";
    printFields(std::get<Record>(recipe.settings.data), 1);
    text += "}\n";
    return std::move(text);
  }

  std::string dataflow() {
    text = "dataflow {\n";
    for (const Dim& dim : recipe.model.dims)
      lineWithOrigin("  dim " + dim.name + " = " + std::to_string(dim.size),
                     dim.origin);
    text += "  input " + tensor(recipe.model.tokens) + "\n";
    for (const Call& call : recipe.model.calls)
      printCall(call);
    text += "  return " + tensor(recipe.model.output) + "\n}\n";
    return std::move(text);
  }

private:
  static std::string indentation(int depth) {
    return std::string(size_t(depth) * 2, ' ');
  }

  void lineWithOrigin(std::string line, const Origin& origin) {
    line.resize(std::max(line.size() + 1, originColumn), ' ');
    text += line + "# " + formatOrigin(origin, sources) + "\n";
  }

  void printFields(const Record& record, int depth) {
    for (const auto& [name, value] : record.fields) {
      std::string start = indentation(depth) + formatKey(name);
      const Record* inner = std::get_if<Record>(&value.data);
      if (!inner || inner->fields.empty()) {
        lineWithOrigin(start + " = " + formatValue(value, recipe.model.dims),
                       value.origin);
        continue;
      }
      if (inner->schema == name)
        text += start + " {\n";
      else
        text += start + " = " +
                (inner->schema.empty() ? "{" : inner->schema + " {") + "\n";
      printFields(*inner, depth + 1);
      text += indentation(depth) + "}\n";
    }
  }

  static std::string tensor(TensorId id) {
    return id == TensorId::none ? "none" : "%" + std::to_string(int(id));
  }

  void printCall(const Call& call) {
    text += "  " + tensor(call.result) + " = " + call.op + "(";
    const char* separator = "";
    for (TensorId operand : call.operands) {
      text += separator + tensor(operand);
      separator = ", ";
    }
    for (const Attribute& attribute : call.attributes) {
      text += separator + attribute.name + " = " +
              formatValue(attribute.value, recipe.model.dims);
      separator = ", ";
    }
    text += ")";
    if (!call.name.empty())
      text += " name " + call.name;
    if (!call.hfName.empty())
      text += " hf " + call.hfName;
    if (call.layer >= 0)
      text += " layer " + std::to_string(call.layer);
    text += "\n";
  }

  const Recipe& recipe;
  const SourceMap& sources;
  std::string text;
};

} // namespace

std::string printSettings(const Recipe& recipe, const SourceMap& sources) {
  return Printer(recipe, sources).settings();
}

std::string printDataflow(const Recipe& recipe, const SourceMap& sources) {
  return Printer(recipe, sources).dataflow();
}

} // namespace recipec::recipe
