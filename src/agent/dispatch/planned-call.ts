import type { PlannedCall } from "../../toolkit/parallel-plan.ts"
import type { DispatchSession } from "./dispatch-session.ts"
import type { PreparedCall, ReadyCall } from "./prepare.ts"

/** What decides whether a call may run at the same time as others. */
export function plannedCall(call: PreparedCall, session: Pick<DispatchSession, "workspace">): PlannedCall {
  return call.kind === "refused"
    ? { parallel: "never", access: "unknown", paths: [], argumentsValid: false }
    : {
        parallel: call.entry.parallel ?? "never",
        access: call.parsed.access,
        paths: pathsOf(call, session),
        argumentsValid: true,
      }
}

/** The paths of a call, absolute. */
export function pathsOf(call: ReadyCall, { workspace }: Pick<DispatchSession, "workspace">): readonly string[] {
  return call.parsed.subjects.flatMap((subject) =>
    subject.kind === "path" ? [workspace.files.resolve(subject.path)] : [],
  )
}
