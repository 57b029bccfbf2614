// The lab's host "facility": a sign-off that says of itself that it is a rehearsal, and PDUs that
// answer over Redfish.
#pragma once

#include <string>

#include "backend/lab/state/lab_state.h"
#include "world/files.h"
#include "world/http.h"
#include "world/world.h"

namespace muster::lab {

// Facility files are those under <lab>/facility, where a person's own sign-off would be (`muster
// gate sign 1`). Without one, and while a facility fault is in the lab, /facility/signoff.json is
// written afresh: signed with the lab's own key, which lies beside it in
// <lab>/facility/signoff.key.
class FacilityFiles final : public Files {
 public:
  FacilityFiles(const LabState& state, World base) : state_(state), base_(base) {}

  Result<std::string> Read(const std::string& path, uint64_t limit = 1ull << 30) override;
  Status WriteAtomic(const std::string& path, std::string_view bytes) override;
  Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override;
  Status Truncate(const std::string& path, uint64_t size) override;
  Result<std::vector<FileInfo>> List(const std::string& folder) override;
  Result<FileInfo> Stat(const std::string& path) override;
  Status MakeFolders(const std::string& path) override;
  Status Remove(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path, std::string_view note) override;

 private:
  Result<std::string> Rehearsed();

  const LabState& state_;
  World base_;
};

// http://pdu00/redfish/v1/PowerEquipment/RackPDUs/1 and its Outlets.
class FacilityHttp final : public Http {
 public:
  explicit FacilityHttp(const LabState& state) : state_(state) {}
  Result<HttpResponse> Do(const HttpRequest& request) override;
  Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                              Duration& sent_at) override;

 private:
  const LabState& state_;
};

}  // namespace muster::lab
