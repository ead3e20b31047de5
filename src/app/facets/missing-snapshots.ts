import { CallDeniedError } from "../../agent/call-denied.ts"
import type { StartingCall } from "../../agent/facet.ts"
import { assertNever } from "../../base/assert-never.ts"
import { asSentence } from "../../base/sentence.ts"
import type { SnapshotProblem } from "../../exec/checkpoints/turn-snapshots.ts"

/** Tells the user about calls that cannot be undone, once for each cause, and asks whether to continue where a user is present. */
export interface MissingSnapshots {
  beginTurn(): void
  /** Rejects with `CallDeniedError` if the user does not want the call to run without undo. */
  report(problems: readonly SnapshotProblem[], call: ReportingCall): Promise<void>
  /** The warnings of this turn, for the end of the answer. Only those that no user was asked about. */
  takeFooter(): string | undefined
}

type ReportingCall = Pick<StartingCall, "ask" | "tell" | "signal">

export interface MissingSnapshotsOptions {
  /** False where the permission profile asks nothing: then a warning is enough. */
  readonly mayAsk: () => boolean
}

export function createMissingSnapshots({ mayAsk }: MissingSnapshotsOptions): MissingSnapshots {
  const reported = new Set<string>()
  let footers: string[] = []
  let isAccepted = false
  let deniedThisTurn = false
  /** Calls that run in parallel share one question. */
  let asking = Promise.resolve()

  const askOnce = async (problem: SnapshotProblem, call: ReportingCall): Promise<void> => {
    if (isAccepted) {
      if (isFirst(problem)) call.tell("warning", problemText(problem))
      return
    }
    if (deniedThisTurn) throw new CallDeniedError(DENIED, "no-snapshot")
    if (!mayAsk()) {
      if (isFirst(problem)) warnUnattended(problem, call)
      return
    }
    const outcome = await call.ask({
      kind: "question",
      asker: "hermes",
      question: `${problemText(problem)} Continue without undo?`,
      choices: [YES, NO],
      allowFreetext: false,
    })
    if (outcome.kind === "unattended") {
      if (isFirst(problem)) warnUnattended(problem, call)
      return
    }
    // The door settles an interrupted call.
    if (outcome.kind === "interrupted") return
    if (outcome.kind !== "timeout" && outcome.text === YES) {
      isAccepted = true
      isFirst(problem)
      return
    }
    deniedThisTurn = true
    throw new CallDeniedError(DENIED, "no-snapshot")
  }
  const isFirst = ({ kind, directory }: SnapshotProblem): boolean => {
    const key = `${kind} ${directory}`
    if (reported.has(key)) return false
    reported.add(key)
    return true
  }
  const warnUnattended = (problem: SnapshotProblem, call: ReportingCall): void => {
    call.tell("warning", problemText(problem))
    footers.push(`Note: ${problemText(problem)}`)
  }
  const reportOne = async (problem: SnapshotProblem, call: ReportingCall): Promise<void> => {
    switch (problem.kind) {
      case "failed": {
        const question = asking.then(() => askOnce(problem, call))
        asking = question.catch(() => undefined)
        await question
        return
      }
      case "too-many-files":
      case "incomplete":
        if (isFirst(problem)) call.tell("warning", problemText(problem))
        return
      // Expected, for example in the home directory: scripts need not hear of it.
      case "unsupported":
        if (isFirst(problem)) call.tell("notice", problemText(problem))
        return
      default:
        assertNever(problem.kind)
    }
  }

  return {
    beginTurn: () => {
      deniedThisTurn = false
      footers = []
    },
    report: async (problems, call) => {
      for (const problem of problems) await reportOne(problem, call)
    },
    takeFooter: () => (footers.length === 0 ? undefined : footers.splice(0).join("\n")),
  }
}

const YES = "Yes"
const NO = "No"
const DENIED =
  "Not run: no snapshot of the files could be taken, and the user does not want to continue without undo. Do not try other changes; say what is left to do."

function problemText({ kind, directory, reason }: SnapshotProblem): string {
  switch (kind) {
    case "failed":
      return `${asSentence(`no snapshot of ${directory} could be taken: ${reason}`)} Changes there cannot be undone with /rollback.`
    case "too-many-files":
    case "unsupported":
      return `${asSentence(`Hermes takes no snapshots of ${directory}: ${reason}`)} /rollback restores only files that the file tools write there, not changes by commands.`
    case "incomplete":
      return `${asSentence(`the snapshot of ${directory} is not complete: ${reason}`)} Changes there cannot be undone with /rollback.`
    default:
      return assertNever(kind)
  }
}
