// From a site to what judging asks: the expected value of a name for a subject, the subjects that
// should exist, the criteria that apply here and why the others do not, and which suspect to look
// at first.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalogue/catalogue.h"
#include "evidence/suspects.h"
#include "evidence/verdict.h"
#include "model/site.h"

namespace muster {

// Names that thresholds may ask for beside the settings: of a node gpus_per_node, driver_version;
// of a GPU gpu_model, gpu_uuid, gpu_pci_bus_id, gpu_numa, nvlinks, pcie_gen, pcie_width,
// fabric_state; of a link link_rate, link_width; of an HCA hca_rate; of a pair pair_rate_min,
// pair_rate_warn (Gb/s: rdma_pair_ratio and rdma_pair_warn of the slowest rail both nodes have).
struct ExpectationName {
  std::string_view name;
  FactType type;
  Unit unit;
};
std::span<const ExpectationName> KnownExpectations();

// What the site expects. Settings are answered for every subject: site.thresholds[name] first, then
// the site's own training and inference targets, then the catalogue's default. Borrows both, which
// must outlive it.
Expectation MakeExpectation(const Site& site, const Catalogue& catalogue);
// With the catalogue of this binary.
Expectation MakeExpectation(const Site& site);

// All subjects of a kind that should exist, in a fixed order; of the nodes of a scope, when one is
// given (empty = all nodes). Links and ports are those with an end in the scope, and the links
// between switches that serve it. Pairs are ring neighbours. Ids that nothing in the inventory
// names: fabric "fabric", scope "all" (all of the nodes asked for), gang "train", endpoint
// "openai".
std::vector<Subject> SubjectsOf(const Site& site, SubjectKind kind,
                                std::span<const std::string> scope_nodes = {});

// The subjects a criterion is judged for: SubjectsOf its kind. With when_observed only those of
// which something was said, and every pair of nodes of the scope that was measured, also where they
// are no neighbours.
std::vector<Subject> SubjectsFor(const Criterion& criterion, const Site& site,
                                 std::span<const std::string> scope_nodes,
                                 const ObservationIndex& index);

struct Applicability {
  struct Skipped {
    const Criterion* criterion = nullptr;  // in the catalogue
    std::string reason;
  };
  std::vector<Criterion> criteria;  // with the site's thresholds in place
  std::vector<Skipped> not_applicable;
};
// The criteria of a gate (0 = all). A criterion does not apply when the site lacks a feature it
// names ("a|b" = one of them, "!x" = not there, "expects.NAME" = the site answers NAME for some
// subject, "two_nodes" = the scope has two), or has no such subject.
Applicability Applicable(const Catalogue& catalogue, const Site& site, int gate,
                         std::span<const std::string> scope_nodes = {});

// What is wrong with site.thresholds: names that are neither code nor setting (with the nearest),
// units that do not fit. One sentence each, with the key it is about.
std::vector<std::pair<std::string, std::string>> CheckThresholds(const Catalogue& catalogue,
                                                                 const Site& site);

// A criterion's `next` for a subject: placeholders {host}, {gpu}, {device}, {port}, {a}, {b}, {id},
// {fabric} filled in, and {at host}, {at fabric}, {at monitor}, {at a}, {at b} turned into the way
// this site reaches that host. Without a subject they stay capitals.
std::string RenderNext(std::string_view next, const Subject* subject, const Site* site);

// evidence/suspects.h with the ranks and next commands of the catalogue and the inventory of the
// site.
std::vector<Suspect> FindSuspects(std::span<const Verdict> verdicts, const Catalogue& catalogue,
                                  const Site& site);

}  // namespace muster
