// A site's own runbook for tests: it asks a person before it begins and after it has acted.
#pragma once

namespace muster::testing {

inline constexpr const char* kAskFirst = R"(id: S1
slug: ask-first
title: "Restart after a word"
family: own
on: node
source: "the site"
trigger:
  kind: manual
  means: "a person wants it"
prechecks:
  - id: rack-is-cool
    attest: "is the rack's door open and the air cool?"
steps:
  - id: restart
    act: service_restart
    with: {unit: nvidia-dcgm}
    timeout: 1m
    verify:
      - id: panel-is-green
        attest: "does the panel show green?"
    irreversible: "a restart cannot be taken back"
rollback:
  how: stay
  why: "nothing to take back"
blast:
  waves: ["1"]
)";

}  // namespace muster::testing
