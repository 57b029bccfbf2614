// A key pair by which the pods of one job log in to each other, in the forms that OpenSSH reads.
#pragma once

#include <string>

#include "base/result.h"

namespace muster::kubesched {

struct SshKeys {
  std::string private_pem, public_line;
};
// RSA of 3,072 bits, from the machine's own randomness: Volcano's ssh plugin calls the file id_rsa.
Result<SshKeys> MakeSshKeys();

}  // namespace muster::kubesched
