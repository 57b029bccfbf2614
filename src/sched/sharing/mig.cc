#include "sched/sharing/mig.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster {
namespace {

using SliceMask = unsigned;

SliceMask Slices(const MigProfile& profile, int start) {
  return ((1u << profile.memory_slices) - 1u) << start;
}

bool MayStart(const MigProfile& profile, int start) {
  return std::find(profile.starts.begin(), profile.starts.end(), start) != profile.starts.end();
}

// How many instances of one profile there are; media extensions and whole GPUs are limited so.
int CountOf(std::span<const MigInstance> instances, const std::string& profile) {
  return static_cast<int>(std::count_if(instances.begin(), instances.end(),
                                        [&](const auto& i) { return i.profile == profile; }));
}

// Depth first over the profiles in their order. Equal profiles that follow each other are placed at
// rising starts, so that no arrangement is tried twice.
bool PlaceFrom(const std::vector<const MigProfile*>& profiles, size_t index, SliceMask taken,
               std::vector<MigInstance>& placed) {
  if (index == profiles.size()) return true;
  const MigProfile& profile = *profiles[index];
  const int after = index > 0 && profiles[index - 1] == profiles[index] ? placed.back().start : -1;
  for (const int start : profile.starts) {
    if (start <= after || (Slices(profile, start) & taken) != 0) continue;
    placed.push_back({profile.name, start});
    if (PlaceFrom(profiles, index + 1, taken | Slices(profile, start), placed)) return true;
    placed.pop_back();
  }
  return false;
}

Result<SliceMask> TakenBy(const MigModel& model, std::span<const MigInstance> fixed) {
  SliceMask taken = 0;
  for (const MigInstance& instance : fixed) {
    const MigProfile* profile = model.Find(instance.profile);
    if (profile == nullptr) {
      return Fail(Code::kInvalid, fmt::format("{} has no profile {}", model.id, instance.profile));
    }
    if (!MayStart(*profile, instance.start)) {
      return Fail(Code::kInvalid,
                  fmt::format("a {} cannot begin at slice {}, only at {}", instance.profile,
                              instance.start, fmt::join(profile->starts, ", ")));
    }
    if ((taken & Slices(*profile, instance.start)) != 0) {
      return Fail(Code::kInvalid, fmt::format("the {} at slice {} overlaps another instance",
                                              instance.profile, instance.start));
    }
    taken |= Slices(*profile, instance.start);
  }
  return taken;
}

}  // namespace

const MigProfile* MigModel::Find(std::string_view profile) const {
  const auto it = std::find_if(profiles.begin(), profiles.end(),
                               [&](const MigProfile& p) { return p.name == profile; });
  return it == profiles.end() ? nullptr : &*it;
}

Result<std::optional<std::vector<MigInstance>>> PlaceMig(const MigModel& model,
                                                         std::span<const MigInstance> fixed,
                                                         std::span<const std::string> profiles) {
  using Placement = std::optional<std::vector<MigInstance>>;
  TRY(const SliceMask taken, TakenBy(model, fixed));
  std::vector<const MigProfile*> wanted;
  for (const std::string& name : profiles) {
    const MigProfile* profile = model.Find(name);
    if (profile == nullptr) {
      return Fail(Code::kInvalid, fmt::format("{} has no profile {}", model.id, name));
    }
    wanted.push_back(profile);
    const auto asked = std::count(wanted.begin(), wanted.end(), profile);
    if (CountOf(fixed, name) + asked > profile->most) return Placement();
  }
  // Wide ones first: they have the fewest places.
  std::stable_sort(wanted.begin(), wanted.end(), [](const MigProfile* a, const MigProfile* b) {
    return a->memory_slices != b->memory_slices ? a->memory_slices > b->memory_slices
                                                : a->name < b->name;
  });
  if (wanted.size() > kMigMemorySlices) return Placement();
  std::vector<MigInstance> placed;
  if (!PlaceFrom(wanted, 0, taken, placed)) return Placement();
  return Placement(std::move(placed));
}

Result<std::vector<MigRoom>> MigRoomLeft(const MigModel& model,
                                         std::span<const MigInstance> fixed) {
  std::vector<std::string> existing;
  for (const MigInstance& instance : fixed) existing.push_back(instance.profile);
  std::vector<MigRoom> rooms;
  for (const MigProfile& profile : model.profiles) {
    MigRoom room{profile.name, 0, 0};
    std::vector<std::string> more;
    std::vector<std::string> all = existing;
    for (int count = 1; count <= profile.most; ++count) {
      more.push_back(profile.name);
      all.push_back(profile.name);
      TRY(const auto beside, PlaceMig(model, fixed, more));
      if (beside) room.more = count;
      TRY(const auto packed, PlaceMig(model, {}, all));
      if (packed) room.more_if_packed = count;
    }
    rooms.push_back(std::move(room));
  }
  return rooms;
}

std::string MigResourceName(std::string_view profile) {
  std::string name = "nvidia.com/mig-" + std::string(profile);
  std::replace(name.begin(), name.end(), '+', '.');
  return name;
}

const MigModel* MigModelOf(std::span<const MigModel> models, std::string_view gpu_name) {
  for (const MigModel& model : models) {
    if (std::all_of(model.match.begin(), model.match.end(), [&](const std::string& word) {
          return gpu_name.find(word) != std::string_view::npos;
        })) {
      return &model;
    }
  }
  return nullptr;
}

std::string_view ToString(Isolation isolation) {
  switch (isolation) {
    case Isolation::kNone:
      return "none";
    case Isolation::kLimited:
      return "limited";
    case Isolation::kFull:
      return "full";
  }
  return "none";
}

}  // namespace muster
