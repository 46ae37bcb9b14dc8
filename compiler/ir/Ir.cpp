// Names, sizes and look-ups of the IR; see Ir.h.

#include "compiler/ir/Ir.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace recipec::ir {

std::string_view valueKindName(ValueKind kind) {
  constexpr std::array<std::string_view, 7> names = {
      "input", "param", "gradient", "state", "saved", "received", "temporary"};
  return names[size_t(kind)];
}

int64_t sizeOf(const Module& module, AxisSet axes) {
  int64_t size = 1;
  for (size_t i = 0; i < module.axes.size(); ++i)
    if (axes.contains(AxisId(i)))
      size *= module.axes[i].size;
  return size;
}

AxisSet axesOf(const Module& module, std::string_view degree) {
  AxisSet axes;
  auto found = module.degrees.find(std::string(degree));
  if (found == module.degrees.end())
    return axes;
  for (size_t i = 0; i < module.axes.size(); ++i)
    if (module.axes[i].size > 1)
      axes = axes | (found->second.axes & AxisSet(AxisId(i)));
  return axes;
}

std::string groupName(const Module& module, AxisSet axes) {
  std::string name;
  for (size_t i = 0; i < module.axes.size(); ++i)
    if (axes.contains(AxisId(i)) && module.axes[i].size > 1)
      name += (name.empty() ? "" : "+") + module.axes[i].name;
  return name;
}

AxisSet findGroup(const Module& module, std::string_view name) {
  AxisSet axes;
  while (!name.empty()) {
    size_t end = std::min(name.find('+'), name.size());
    axes = axes | AxisSet(findAxis(module, name.substr(0, end)));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return axes;
}

std::vector<int64_t> localShape(const Module& module, ValueId id) {
  const Value& value = module[id];
  std::vector<int64_t> shape;
  shape.reserve(value.dims.size());
  for (size_t i = 0; i < value.dims.size(); ++i) {
    int64_t size = module[value.dims[i]].size;
    if (i < value.sharding.dims.size())
      size /= sizeOf(module, value.sharding.dims[i]);
    shape.push_back(size);
  }
  return shape;
}

int64_t localElements(const Module& module, ValueId id) {
  int64_t elements = 1;
  for (int64_t size : localShape(module, id))
    elements *= size;
  return elements;
}

int64_t localBytes(const Module& module, ValueId id) {
  return localElements(module, id) * byteSize(module[id].type);
}

AxisId findAxis(const Module& module, std::string_view name) {
  for (size_t i = 0; i < module.axes.size(); ++i)
    if (module.axes[i].name == name)
      return AxisId(i);
  return AxisId::none;
}

DimId findDim(const Module& module, std::string_view name) {
  for (size_t i = 0; i < module.dims.size(); ++i)
    if (module.dims[i].name == name)
      return DimId(i);
  return DimId::none;
}

DimId addDim(Module& module, std::string_view name, int64_t size,
             SourceRange range) {
  std::string candidate(name);
  for (int count = 2;; ++count) {
    DimId existing = findDim(module, candidate);
    if (existing == DimId::none)
      break;
    if (module[existing].size == size)
      return existing;
    candidate = std::string(name) + "." + std::to_string(count);
  }
  module.dims.push_back({std::move(candidate), size, range});
  return DimId(module.dims.size() - 1);
}

DimId constantDim(Module& module, int64_t size) {
  return addDim(module, std::to_string(size), size);
}

ValueId addValue(Module& module, Value value) {
  module.values.push_back(std::move(value));
  return ValueId(module.values.size() - 1);
}

const Function* findFunction(const Module& module, std::string_view name) {
  for (const Function& function : module.functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

Function* findFunction(Module& module, std::string_view name) {
  return const_cast<Function*>(findFunction(std::as_const(module), name));
}

Function& obtainFunction(Module& module, std::string_view name) {
  if (Function* existing = findFunction(module, name))
    return *existing;
  return module.functions.emplace_back(Function{std::string(name), {}});
}

} // namespace recipec::ir
