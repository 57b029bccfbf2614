#include "probes/node/software.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "probes/node/sections.h"

namespace muster::node {
namespace {

std::string Whole() {
  std::string text;
  AddSection(text, "kernel", "6.8.0-87-generic");
  AddSection(text, "os", "NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\nID=ubuntu");
  AddSection(text, "smi",
             "NVIDIA-SMI version  : 570.211.01\nNVML version        : 570.211\nDRIVER version      "
             ": 570.211.01\nCUDA Version        : 12.8");
  AddSection(text, "ofed", "MLNX_OFED_LINUX-24.10-2.1.8.0:");
  AddSection(text, "dcgm", "\ndcgmi  version: 4.4.1\n");
  AddSection(text, "container_toolkit", "NVIDIA Container Toolkit CLI version 1.18.0\ncommit: abc");
  AddSection(text, "packages",
             "installed containerd.io 1.7.28-1\nconfig-files docker-ce 5:27.0\ninstalled libnccl2 "
             "2.26.5-1+cuda12.8\ninstalled broken\ninstalled odd no version\n");
  AddSection(text, "end", "");
  return text;
}

Reading Answered(std::string text) {
  Reading reading;
  reading.probe = "node.software";
  reading.host = "n1";
  reading.text = std::move(text);
  return reading;
}

std::map<std::string, std::string> Items(const Reading& reading) {
  std::map<std::string, std::string> items;
  const auto list = SoftwareOf(reading);
  EXPECT_TRUE(list);
  for (const SoftwareItem& item : *list) items[item.name] = item.version;
  return items;
}

TEST(Software, EveryPartOfTheStackIsListedWithItsVersion) {
  EXPECT_EQ(Items(Answered(Whole())),
            (std::map<std::string, std::string>{{"kernel", "6.8.0-87-generic"},
                                                {"os", "Ubuntu 22.04.5 LTS"},
                                                {"driver", "570.211.01"},
                                                {"cuda", "12.8"},
                                                {"ofed", "MLNX_OFED_LINUX-24.10-2.1.8.0"},
                                                {"dcgm", "4.4.1"},
                                                {"container-toolkit", "1.18.0"},
                                                {"package:containerd.io", "1.7.28-1"},
                                                {"package:libnccl2", "2.26.5-1+cuda12.8"}}));
}

TEST(Software, RemovedAndMalformedPackagesAreNotInstalled) {
  const auto items = Items(Answered(Whole()));
  EXPECT_FALSE(items.contains("package:docker-ce"));
  EXPECT_FALSE(items.contains("package:broken"));
  EXPECT_FALSE(items.contains("package:odd"));
}

TEST(Software, HostWithoutTheStackListsWhatItHas) {
  std::string text;
  AddSection(text, "kernel", "6.1.0-18-amd64");
  for (const char* name : {"os", "smi", "ofed", "dcgm", "container_toolkit", "packages", "end"})
    AddSection(text, name, "");
  EXPECT_EQ(Items(Answered(text)),
            (std::map<std::string, std::string>{{"kernel", "6.1.0-18-amd64"}}));
  for (const Observation& o : ParseSoftware(Answered(text))) {
    EXPECT_EQ(o.value() == nullptr, o.fact == "node.os") << o.fact;
  }
}

TEST(Software, CutReadingGivesNoListAtAll) {
  const std::string whole = Whole();
  const size_t last_section = whole.find("# muster: end");
  ASSERT_NE(last_section, std::string::npos);
  for (size_t cut = 0; cut + 1 < last_section; ++cut)
    EXPECT_FALSE(SoftwareOf(Answered(whole.substr(0, cut)))) << cut;
  Reading faulted = Answered(whole);
  faulted.fault = Unobserved{UnknownReason::kUnreachable, "no route"};
  EXPECT_FALSE(SoftwareOf(faulted));
}

RC_GTEST_PROP(Software, CutTextNeverChangesAFact, (const std::string& junk)) {
  const std::string whole = Whole();
  const auto cut = *rc::gen::inRange<size_t>(0, whole.size());
  for (const Observation& o : ParseSoftware(Answered(whole.substr(0, cut) + junk))) {
    if (o.value() == nullptr) continue;
    const std::string text = FormatValue(*o.value(), Unit::kNone);
    RC_ASSERT(!text.empty());
    if (cut > whole.find("# muster: smi"))
      RC_ASSERT(text == (o.fact == "node.os" ? "Ubuntu 22.04.5 LTS" : "6.8.0-87-generic"));
  }
}

}  // namespace
}  // namespace muster::node
