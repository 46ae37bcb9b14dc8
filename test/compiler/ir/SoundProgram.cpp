// See SoundProgram.h.

#include "SoundProgram.h"

#include "compiler/ir/Parse.h"
#include "compiler/ir/Print.h"
#include "compiler/ir/Verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace recipec::ir {

namespace {

/// Parses a module. Fails the test if the text is not a module.
Module parsedOf(const std::string& text) {
  std::string error;
  std::optional<Module> module = parse(text, error);
  EXPECT_TRUE(module) << error;
  return module ? *std::move(module) : Module();
}

} // namespace

Module SoundProgram::parsed() const {
  return parsedOf(text);
}

void SoundProgram::expectSound() const {
  const Module module = parsed();
  EXPECT_EQ(verify(module), std::vector<std::string>());
  EXPECT_EQ(print(module), text);
}

std::vector<std::string>
SoundProgram::findingsWith(const std::string& from,
                           const std::string& to) const {
  std::string changed = text;
  size_t place = changed.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  for (; place != std::string::npos;
       place = changed.find(from, place + to.size()))
    changed.replace(place, from.size(), to);
  return verify(parsedOf(changed));
}

void SoundProgram::expectFound(const std::string& from, const std::string& to,
                               const std::string& finding) const {
  const std::vector<std::string> findings = findingsWith(from, to);
  const bool isFound =
      std::ranges::any_of(findings, [&](const std::string& each) {
        return each.find(finding) != std::string::npos;
      });
  EXPECT_TRUE(isFound) << "`" << from << "` -> `" << to << "` gives "
                       << (findings.empty() ? "nothing" : findings[0]);
}

} // namespace recipec::ir
