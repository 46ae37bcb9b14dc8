// A value of a manifest with its place in the file and in the object.

#ifndef RECIPEC_IMPORT_MANIFEST_YAML_NODE_H
#define RECIPEC_IMPORT_MANIFEST_YAML_NODE_H

#include "compiler/ast/Ast.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::importer::manifest {

/// A value, or none: fields of none are none. The file must outlive it.
class Node {
public:
  Node() = default;
  /// The document of a declaration `let data = ...`.
  Node(const ast::File& file, const SourceMap& sources, ast::ExprId id)
      : file(&file), sources(&sources), id(id) {}

  /// Whether there is a value; null counts as none.
  explicit operator bool() const { return file != nullptr && !isNull(); }

  bool isRecord() const { return is<ast::RecordExpr>(); }
  bool isList() const { return is<ast::ListExpr>(); }
  bool isInteger() const { return is<ast::IntLiteral>(); }
  bool isNumber() const { return isInteger() || is<ast::FloatLiteral>(); }
  bool isText() const { return is<ast::StringLiteral>(); }
  bool isTruth() const;
  /// Whether it is written without quotation marks.
  bool isPlain() const;
  /// `true`; false also for none.
  bool isTrue() const;

  /// The text of a scalar; empty for all else.
  std::string text() const;
  /// A whole number, also one in quotation marks.
  std::optional<int64_t> count() const;

  Node operator[](std::string_view key) const;
  /// `at("spec.template.spec")`
  Node at(std::string_view path) const;
  /// The elements of a list; none of all else.
  std::vector<Node> elements() const;
  /// The values of a record, whose `name()` is their key.
  std::vector<Node> fields() const;

  /// The key of a field, empty for an element of a list.
  const std::string& name() const { return key.text; }
  SourceRange nameRange() const { return key.range; }
  /// The range of the value alone.
  SourceRange valueRange() const;
  /// Where messages about the value point: a scalar, the key of a record or
  /// list, or the first key of an element.
  SourceRange range() const;
  /// `spec.containers[0].image`; empty for a document.
  const std::string& path() const { return where; }
  const SourceMap& sourceMap() const { return *sources; }

private:
  template <class Type> bool is() const {
    return file && std::holds_alternative<Type>((*file)[id].node);
  }
  bool isNull() const;
  Node child(ast::ExprId value, ast::Name name, std::string path) const;

  const ast::File* file = nullptr;
  const SourceMap* sources = nullptr;
  ast::ExprId id = ast::ExprId::none;
  ast::Name key = {};
  std::string where;
};

/// The resource quantity of a text such as `64Gi`, `500m` or `8`, in bytes,
/// cores or pieces; nullopt if it is none.
std::optional<double> quantityOf(std::string_view text);

} // namespace recipec::importer::manifest

#endif // RECIPEC_IMPORT_MANIFEST_YAML_NODE_H
