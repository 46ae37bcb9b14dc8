// ir-reprint: parses the text of a module, verifies it and prints it again.

#include "compiler/ir/Parse.h"
#include "compiler/ir/Print.h"
#include "compiler/ir/Verify.h"

#include <cstdio>
#include <iostream>
#include <iterator>

int main() {
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  std::string error;
  std::optional<recipec::ir::Module> module = recipec::ir::parse(text, error);
  if (!module) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  for (const std::string& finding : recipec::ir::verify(*module)) {
    std::fprintf(stderr, "%s\n", finding.c_str());
    return 1;
  }
  std::cout << recipec::ir::print(*module);
  return 0;
}
