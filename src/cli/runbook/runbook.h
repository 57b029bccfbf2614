// muster runbook: list, show, plan, run, status, approve, pause, resume, rollback, journal, ticket.
#pragma once

#include "cli/commands.h"

namespace muster::cli {

ExitCode RunbookList(const Invocation& invocation);
ExitCode RunbookShow(const Invocation& invocation);
ExitCode RunbookPlan(const Invocation& invocation);
ExitCode RunbookRunPlan(const Invocation& invocation);
ExitCode RunbookStatus(const Invocation& invocation);
ExitCode RunbookAttest(const Invocation& invocation);
ExitCode RunbookLint(const Invocation& invocation);
ExitCode RunbookApprove(const Invocation& invocation);
ExitCode RunbookPause(const Invocation& invocation);
ExitCode RunbookResume(const Invocation& invocation);
ExitCode RunbookRollback(const Invocation& invocation);
ExitCode RunbookJournal(const Invocation& invocation);
ExitCode RunbookTicket(const Invocation& invocation);

}  // namespace muster::cli
