// What clang wants before it takes code that GCC takes; fuzz builds include it
// at the top of every file.

#ifndef RECIPEC_TEST_FUZZ_CLANG_H
#define RECIPEC_TEST_FUZZ_CLANG_H

// ANTLR 4.9 has a class with const members and a constructor that does not
// initialise them. Nobody calls it: it becomes a function.
#define InterpreterData(...) void unused(__VA_ARGS__)

#include "compiler/recipe/Recipe.h"

namespace recipec::recipe {
// A Value holds Records, which hold Values. Clang instantiates the destructor
// where it is first used, and this has to be before std::pair<..., Value> is.
inline void destroyFirst(Value& value) {
  value.~Value();
}
} // namespace recipec::recipe

#endif // RECIPEC_TEST_FUZZ_CLANG_H
