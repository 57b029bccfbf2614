// Result<T>: a value or an Error. Every function that can fail for a reason outside the program
// returns one; exceptions are caught in the file that wraps the library which throws them. Dropping
// a Result is a warning.
#pragma once

#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace muster {

// What kind of trouble it is. Callers branch on this, never on the message.
enum class Code {
  kInternal,     // a bug, or a library that broke its word
  kNotFound,     // the thing asked for does not exist
  kUnavailable,  // nobody answered
  kTimeout,      // no answer in time
  kPermission,   // somebody answered "no"
  kParse,        // the text is not what it should be
  kConflict,     // somebody else holds it, or the world moved
  kCorrupt,      // stored bytes are damaged
  kInvalid,      // the user's input cannot be meant
  kCancelled,    // asked to stop
  kRefused,      // a guard said no (budget, lock, approval)
};
std::string_view ToString(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string message;              // no final period; says what was expected where that helps
  std::vector<std::string> frames;  // innermost first: "reading ibstat on node-07"
  bool retryable = false;
  std::source_location where = std::source_location::current();

  // Adds what the caller was doing.
  Error Context(std::string frame) &&;
  // "reading site.yaml: line 3: unknown key nodez"
  std::string ToString() const;
};

// Shorthand: return Fail(Code::kParse, fmt::format(...)).
inline tl::unexpected<Error> Fail(Code code, std::string message,
                                  std::source_location where = std::source_location::current()) {
  return tl::unexpected<Error>(Error{code, std::move(message), {}, false, where});
}
inline tl::unexpected<Error> Fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  bool ok() const { return this->has_value(); }
  // The same result, with what the caller was doing added to the error if there is one.
  Result Context(std::string frame) && {
    if (!ok()) this->error() = std::move(this->error()).Context(std::move(frame));
    return std::move(*this);
  }
};
using Status = Result<void>;

}  // namespace muster

#define MUSTER_CAT2(a, b) a##b
#define MUSTER_CAT(a, b) MUSTER_CAT2(a, b)
// TRY(auto v, Parse(x));  binds the value, or returns the error to the caller.
#define TRY(lhs, expr)                                                    \
  auto MUSTER_CAT(try_, __LINE__) = (expr);                               \
  if (!MUSTER_CAT(try_, __LINE__).has_value())                            \
    return tl::unexpected(std::move(MUSTER_CAT(try_, __LINE__).error())); \
  lhs = std::move(*MUSTER_CAT(try_, __LINE__))
// TRY_VOID(Write(x));  returns the error to the caller if there is one.
#define TRY_VOID(expr)                                                       \
  if (auto MUSTER_CAT(try_, __LINE__) = (expr); !MUSTER_CAT(try_, __LINE__)) \
  return tl::unexpected(std::move(MUSTER_CAT(try_, __LINE__).error()))
