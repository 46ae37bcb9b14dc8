// The attributes of an op, keyed by the names in its description (*.ops).

#ifndef RECIPERUN_OPS_ATTRIBUTES_H
#define RECIPERUN_OPS_ATTRIBUTES_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace reciperun::ops {

using AttributeValue =
    std::variant<bool, int64_t, double, std::string, std::vector<std::string>>;

/// Attributes ordered by name. Only attributes that were set are present. Each
/// op's struct, for example RopeAttributes, reads them with the defaults of the
/// description.
class Attributes {
public:
  using Map = std::map<std::string, AttributeValue, std::less<>>;

  Attributes() = default;
  Attributes(std::initializer_list<Map::value_type> values) : values(values) {}

  /// Return the value of the named attribute, or `otherwise` if the attribute
  /// is absent or has another type.
  bool flag(std::string_view name, bool otherwise = false) const;
  int64_t integer(std::string_view name, int64_t otherwise = 0) const;
  double real(std::string_view name, double otherwise = 0) const;
  const std::string& string(std::string_view name) const; // or empty
  const std::vector<std::string>& strings(std::string_view name) const;

  bool contains(std::string_view name) const { return values.contains(name); }
  Map::const_iterator find(std::string_view name) const {
    return values.find(name);
  }
  const AttributeValue& at(std::string_view name) const;
  AttributeValue& operator[](std::string_view name);
  /// Adds an attribute. Returns false and changes nothing if the name is
  /// already present.
  bool add(std::string name, AttributeValue value) {
    return values.emplace(std::move(name), std::move(value)).second;
  }
  void erase(std::string_view name);
  void clear() { values.clear(); }
  bool empty() const { return values.empty(); }
  size_t size() const { return values.size(); }
  Map::const_iterator begin() const { return values.begin(); }
  Map::const_iterator end() const { return values.end(); }
  bool operator==(const Attributes&) const = default;

private:
  template <class T> const T* held(std::string_view name) const {
    auto found = values.find(name);
    return found == values.end() ? nullptr : std::get_if<T>(&found->second);
  }

  Map values;
};

} // namespace reciperun::ops

#endif // RECIPERUN_OPS_ATTRIBUTES_H
