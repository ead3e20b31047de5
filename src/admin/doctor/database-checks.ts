import { existsSync } from "node:fs"
import { fail, ok } from "../../base/result.ts"
import { checkHealth } from "../../state/sqlite/health.ts"
import { repairStore } from "../../state/sqlite/repair.ts"
import { fileSize } from "../../base/file-size.ts"
import { withSessionStore } from "../sessions/session-store.ts"
import { infoFinding, okFinding, type DoctorContext, type Finding, type Section } from "./finding.ts"
import { counted } from "../../base/counted.ts"

const MEGABYTE = 1024 * 1024

export const databaseSection: Section = {
  title: "Sessions",
  check: async (context) => {
    const { home, full, progress } = context
    const path = home.file("state.db")
    if (!existsSync(path)) return [infoFinding("there is no session database yet")]
    const health = await checkHealth(path, {
      scope: full ? "full" : "quick",
      ...(progress !== undefined && { progress }),
    })
    if (health.state === "damaged") return [damageFinding(health.problems, context)]
    if (health.state === "unchecked") return [{ level: "failure", text: health.reason }]
    const stats = await withSessionStore(context, (store) => store.stats())
    if (stats === undefined) return []
    return [
      okFinding(
        `${home.display(path)}: ${counted(stats.sessions, "session")}, ${counted(stats.messages, "message")}, schema ${stats.schemaVersion}`,
      ),
      ...(health.checked === "everything"
        ? []
        : [infoFinding("only a part of this large database was checked; `hermes doctor --full` checks all of it")]),
      ...(stats.search === "full"
        ? []
        : [{ level: "warning", text: "the search index is incomplete" } satisfies Finding]),
      ...walFinding(stats.walBytes),
    ]
  },
}

function damageFinding(problems: readonly string[], { home, clock, log }: DoctorContext): Finding {
  const path = home.file("state.db")
  const [first = "unknown damage"] = problems
  const more = problems.length > 1 ? `, and ${counted(problems.length - 1, "more problem")}` : ""
  return {
    level: "failure",
    text: `${home.display(path)} is damaged: ${first.trim()}${more}`,
    fix: "hermes sessions repair",
    repair: {
      announcement: `Repairing ${home.display(path)}; the damaged file is kept next to it.`,
      run: async () => {
        const outcome = await repairStore(path, { backup: true, clock, log })
        return outcome.kind === "failed" ? fail(outcome.failure.message) : ok(undefined)
      },
    },
  }
}

/** Closing the store, as this check does, already writes the log back into the database, so no repair is offered. */
function walFinding(bytes: number): readonly Finding[] {
  if (bytes <= 10 * MEGABYTE) return []
  const text = `the write-ahead log takes ${fileSize(bytes)}`
  return bytes > 50 * MEGABYTE ? [{ level: "warning", text, fix: "hermes sessions optimize" }] : [infoFinding(text)]
}
