// Passwords for the moment in which they are used, and their removal from whatever a controller or
// a tool prints back.
#pragma once

#include <string>
#include <string_view>

#include "backend/bmc/bmc.h"
#include "world/files.h"

namespace muster::bmc {

// kNotFound: not set or empty. The error names the reference, never the text.
Result<std::string> ReadSecret(const SecretRef& ref, Files& files, const Environment& environment);

// A controller that repeats the password in its error must not bring it into a journal.
std::string WithoutSecret(std::string text, std::string_view secret);

}  // namespace muster::bmc
