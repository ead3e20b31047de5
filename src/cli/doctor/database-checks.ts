import { existsSync } from "node:fs"
import { systemClock } from "../../base/clock.ts"
import { checkHealth, repairStore } from "../../state/sqlite/repair.ts"
import { fileSize } from "../file-size.ts"
import { withSessions } from "../session-store.ts"
import { good, note, type Finding, type Section } from "./finding.ts"
import { counted } from "../text-layout.ts"

const MEGABYTE = 1024 * 1024

export const databaseSection: Section = {
  title: "Sessions",
  check: async ({ home }) => {
    const path = home.file("state.db")
    if (!existsSync(path)) return [note("there is no session database yet")]
    const health = checkHealth(path)
    if (!health.healthy)
      return health.problems.map((problem, index) =>
        damage(problem, { path, shown: home.display(path), first: index === 0 }),
      )
    const stats = await withSessions(home, { absent: () => undefined, work: (store) => store.stats() })
    if (stats === undefined) return []
    return [
      good(
        `${home.display(path)}: ${counted(stats.sessions, "session")}, ${counted(stats.messages, "message")}, schema ${stats.schemaVersion}`,
      ),
      ...(stats.search === "full"
        ? []
        : [{ level: "warning", text: "the search index is incomplete" } satisfies Finding]),
      ...walFinding(stats.walBytes),
    ]
  },
}

function damage(
  problem: string,
  { path, shown, first }: { readonly path: string; readonly shown: string; readonly first: boolean },
): Finding {
  const finding: Finding = { level: "failure", text: problem }
  if (!first) return finding
  return {
    ...finding,
    fix: "hermes sessions repair",
    repair: {
      announcement: `Repairing ${shown}; the damaged file is kept beside it.`,
      run: () => {
        const outcome = repairStore(path, { backup: true, clock: systemClock })
        if (outcome.kind === "failed") throw new Error(outcome.message)
      },
    },
  }
}

/** Closing the store writes the log back, so having looked at it is already the repair. */
function walFinding(bytes: number): readonly Finding[] {
  if (bytes <= 10 * MEGABYTE) return []
  const text = `the write-ahead log has ${fileSize(bytes)}`
  return bytes > 50 * MEGABYTE ? [{ level: "warning", text, fix: "hermes sessions optimize" }] : [note(text)]
}
