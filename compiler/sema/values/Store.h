// Owns the values of one analysis that are referred to by address.

#ifndef RECIPEC_SEMA_VALUES_STORE_H
#define RECIPEC_SEMA_VALUES_STORE_H

#include "compiler/sema/values/Value.h"

#include <deque>
#include <tuple>
#include <utility>
#include <vector>

namespace recipec::sema {

class Store {
public:
  /// The value stays at its address for the lifetime of the store.
  template <class T> T& make(T value = {}) {
    auto& pool = std::get<std::deque<T>>(pools);
    pool.push_back(std::move(value));
    return pool.back();
  }

private:
  std::tuple<std::deque<Object>, std::deque<ListValue>, std::deque<Mapping>,
             std::deque<Function>, std::deque<Block>, std::deque<Mixin>,
             std::deque<Env>, std::deque<Locals>, std::deque<Layer>,
             std::deque<Schema>, std::deque<Type>, std::deque<Module>,
             std::deque<Value>, std::deque<ast::Name>,
             std::deque<std::vector<ast::Name>>>
      pools;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_STORE_H
